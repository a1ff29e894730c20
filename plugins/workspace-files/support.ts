import { closeSync, openSync, statSync } from 'node:fs'
import { heldPath } from './descriptor.js'

/** True when names can be reached through descriptors here: Linux with a working /proc. */
export function isSupported(): boolean {
  if (process.platform !== 'linux') return false
  const fd = openSync('/', 'r')
  try {
    return statSync(heldPath(fd)).isDirectory()
  } catch {
    return false
  } finally {
    closeSync(fd)
  }
}
