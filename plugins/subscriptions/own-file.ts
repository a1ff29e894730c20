import { constants, type FileHandle, open } from 'node:fs/promises'

const MAX_BYTES = 256 * 1024
const WRITABLE_BY_OTHERS = 0o022
const OPEN_TO_OTHERS = 0o077

/** The text of a file, or why it is not read. `why` completes "the file …". */
export type FileRead =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'wrong'; readonly why: string }

export interface OwnFileOptions {
  /** Nobody else may even read it. */
  readonly isPrivate: boolean
  /** Whose it may be, besides root's; default: this process's user. */
  readonly uid?: number
}

/**
 * Reads a file that only this user (or root) may have written: no link in its place, no pipe or device, not larger than 256 KiB.
 */
export async function readOwnFile(path: string, { isPrivate, ...options }: OwnFileOptions): Promise<FileRead> {
  let handle: FileHandle
  try {
    // A pipe in its place must not make us wait for whoever writes to it.
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' }
    if (code === 'ELOOP') return wrong('is a symbolic link')
    if (code === 'EACCES' || code === 'EPERM') return wrong('may not be read by the daemon’s user')
    return wrong(`cannot be opened (${code})`)
  }
  try {
    const found = await handle.stat()
    const { mode, uid, size } = found
    const own = options.uid ?? process.getuid?.()
    if (!found.isFile()) return wrong('is no regular file')
    if (uid !== own && uid !== 0) return wrong('belongs to another user')
    if ((mode & WRITABLE_BY_OTHERS) !== 0) return wrong('may be written by other users; set its mode to 600')
    if (isPrivate && (mode & OPEN_TO_OTHERS) !== 0) return wrong('may be read by other users; set its mode to 600')
    if (size > MAX_BYTES) return wrong(`is larger than ${MAX_BYTES} bytes`)
    return await readText(handle)
  } catch (error) {
    return wrong(`cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`)
  } finally {
    await handle.close()
  }
}

/** It may grow after its size was taken. */
async function readText(handle: FileHandle): Promise<FileRead> {
  const buffer = Buffer.alloc(MAX_BYTES + 1)
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length)
    if (bytesRead === 0) return { kind: 'read', text: buffer.toString('utf8', 0, length) }
    length += bytesRead
  }
  return wrong(`is larger than ${MAX_BYTES} bytes`)
}

const wrong = (why: string): FileRead => ({ kind: 'wrong', why })
