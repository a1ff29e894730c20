import { randomBytes } from 'node:crypto'
import { chmod, constants, lstat, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Keys that were given over the API, by an id that says nothing. A key is never replaced: the next one gets its own id. */
export interface KeyShelf {
  /** Durable when this resolves, where the shelf is. */
  put(key: string): Promise<string>
  get(id: string): Promise<string | undefined>
  remove(id: string): Promise<void>
}

const ID = /^[0-9a-f]{32}$/
const newId = () => randomBytes(16).toString('hex')

/** For settings that end with the process. `keys` outlives reloads. */
export const createMemoryShelf = (keys: Map<string, string>): KeyShelf => ({
  async put(key) {
    const id = newId()
    keys.set(id, key)
    return id
  },
  get: async id => keys.get(id),
  remove: async id => void keys.delete(id),
})

/** Files of mode 0600 in a directory of mode 0700. */
export const createFolderShelf = (directory: string): KeyShelf => ({
  async put(key) {
    await prepare(directory)
    const id = newId()
    const handle = await open(join(directory, id), 'wx', 0o600)
    try {
      await handle.writeFile(key)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await syncDirectory(directory)
    return id
  },
  async get(id) {
    if (!ID.test(id)) return undefined
    const flag = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    return readFile(join(directory, id), { encoding: 'utf8', flag }).catch(() => undefined)
  },
  async remove(id) {
    if (ID.test(id)) await rm(join(directory, id), { force: true })
  },
})

async function prepare(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const found = await lstat(directory)
  if (!found.isDirectory()) throw new Error('the place of the keys is a link and no directory')
  if ((found.mode & 0o077) !== 0) await chmod(directory, 0o700)
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } catch {
    // Not every file system can; then the entry is as durable as it gets.
  } finally {
    await handle.close()
  }
}
