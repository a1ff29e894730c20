import { lstatSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxPolicy } from '#contracts/sandbox'
import { holdDirectory } from './pinned-roots.js'
import { real } from './real-path.js'

/**
 * A file `commondir` in a repository makes git take config and hooks from another place, so it goes around their being
 * read-only. It cannot be covered: what covers a file that is not there leaves an empty one, on which git stops. So one
 * that a command made is taken away when the command has ended. Call before it starts; call the result afterwards.
 */
export function guardRedirects(policy: SandboxPolicy): () => void {
  const { scope, isReadOnly, root, extraDirs, isPinned } = policy
  if (scope !== 'workspace' || isReadOnly) return () => undefined
  const held = isPinned ? [root, ...extraDirs].map(holdDirectory).filter(dir => dir !== undefined) : []
  const roots = isPinned ? held.map(({ path }) => path) : [root, ...extraDirs].map(real)
  const missing = roots
    .filter(dir => dir !== undefined)
    .flatMap(dir => [join(dir, '.git'), dir])
    .filter(isRepository)
    .map(dir => join(dir, 'commondir'))
    .filter(path => !lstatSync(path, { throwIfNoEntry: false }))
  return () => {
    for (const path of missing) rmSync(path, { recursive: true, force: true })
    for (const dir of held) dir.close()
  }
}

const isRepository = (dir: string): boolean =>
  lstatSync(join(dir, '.'), { throwIfNoEntry: false })?.isDirectory() === true &&
  lstatSync(join(dir, 'HEAD'), { throwIfNoEntry: false }) !== undefined
