import { lstatSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxPolicy } from '#contracts/sandbox'
import { real } from './real-path.js'

/**
 * A file `commondir` in a repository makes git take config and hooks from another place, so it goes around their being
 * read-only. It cannot be covered: what covers a file that is not there leaves an empty one, on which git stops. So one
 * that a command made is taken away when the command has ended. Call before it starts; call the result afterwards.
 */
export function guardRedirects({ scope, isReadOnly, root, extraDirs }: SandboxPolicy): () => void {
  if (scope !== 'workspace' || isReadOnly) return () => undefined
  const missing = [root, ...extraDirs]
    .map(real)
    .filter(dir => dir !== undefined)
    .flatMap(dir => [join(dir, '.git'), dir])
    .filter(isRepository)
    .map(dir => join(dir, 'commondir'))
    .filter(path => !lstatSync(path, { throwIfNoEntry: false }))
  return () => {
    for (const path of missing) rmSync(path, { recursive: true, force: true })
  }
}

const isRepository = (dir: string): boolean =>
  lstatSync(dir, { throwIfNoEntry: false })?.isDirectory() === true &&
  lstatSync(join(dir, 'HEAD'), { throwIfNoEntry: false }) !== undefined
