import { lstatSync, realpathSync } from 'node:fs'

/** The real path, or undefined when there is nothing. */
export function real(path: string): string | undefined {
  try {
    // Asked first because an error costs more than a look.
    return lstatSync(path, { throwIfNoEntry: false }) && realpathSync.native(path)
  } catch {
    return undefined
  }
}
