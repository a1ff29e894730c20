import { chmod, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Removes a directory with all that lies in it, also what its owner may not change, as in the cache of Go's modules. No
 * link is followed; call it when no process is left that could put one in the place of a directory.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    await openUp(path)
    await rm(path, { recursive: true, force: true })
  }
}

/** The removal that failed may still be at work on the rest. */
async function openUp(dir: string): Promise<void> {
  try {
    await chmod(dir, 0o700)
    for (const entry of await readdir(dir, { withFileTypes: true }))
      if (entry.isDirectory()) await openUp(join(dir, entry.name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
