import { constants, open, realpath } from 'node:fs/promises'
import { isAbsolute, join, normalize, resolve, sep } from 'node:path'
import { keyText } from './key-text.js'

const MAX_BYTES = 16 * 1024

/** A key from a file, or why there is none. `why` completes "the file …". */
export type KeyRead = { readonly kind: 'read'; readonly key: string } | { readonly kind: 'wrong'; readonly why: string }

/**
 * Directories whose files may be named as keys. Anything else would let whoever may add a provider have any file sent to an
 * address of their own.
 */
export class KeyFiles {
  /** The first one is where relative paths start. */
  constructor(private readonly roots: readonly string[]) {}

  /** Reads it anew each time: keys are exchanged under a daemon that runs. Links are followed as long as they stay inside. */
  async read(path: string): Promise<KeyRead> {
    const target = this.#locate(path)
    if (target === undefined) return wrong('does not lie in a directory for keys')
    try {
      const [file, root] = await Promise.all([realpath(target.file), realpath(target.root)])
      if (!isWithin(file, root)) return wrong('does not lie in a directory for keys')
      return await readKey(file)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      return wrong(code === 'ENOENT' || code === 'ENOTDIR' ? 'is not there' : `cannot be read (${code ?? 'unknown'})`)
    }
  }

  #locate(path: string): { readonly file: string; readonly root: string } | undefined {
    if (path === '' || path.includes('\0')) return undefined
    const file = isAbsolute(path) ? normalize(path) : resolve(this.roots[0] ?? '/', path)
    const root = this.roots.find(each => isWithin(file, each))
    return root === undefined ? undefined : { file, root }
  }
}

async function readKey(file: string): Promise<KeyRead> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    if (!(await handle.stat()).isFile()) return wrong('is no regular file')
    const buffer = Buffer.alloc(MAX_BYTES + 1)
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
    if (bytesRead > MAX_BYTES) return wrong(`is larger than ${MAX_BYTES} bytes`)
    const key = keyText(buffer.toString('utf8', 0, bytesRead))
    return key === undefined ? wrong('does not hold a key: one line of printable characters') : { kind: 'read', key }
  } finally {
    await handle.close()
  }
}

const wrong = (why: string): KeyRead => ({ kind: 'wrong', why })
const isWithin = (file: string, root: string): boolean => file.startsWith(join(root, sep))
