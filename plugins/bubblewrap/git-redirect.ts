import { lstatSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxPolicy } from '#contracts/sandbox'
import { holdDirectory } from './pinned-roots.js'
import { real } from './real-path.js'

/**
 * Undoes what would make git take config and hooks from another place when a command has ended: neither can be covered.
 * A file `commondir` in a repository does so, but what covers one that is not there leaves an empty file, on which git
 * stops. A link in the place of `.git` does so when it leads elsewhere. Call before the command starts, and the result
 * afterwards: a `commondir` it made is removed, and a `.git` that was a link is that link again.
 */
export function guardRedirects(policy: SandboxPolicy): () => void {
  const { scope, isReadOnly, root, extraDirs, isPinned } = policy
  if (scope !== 'workspace' || isReadOnly) return () => undefined
  const held = isPinned ? [root, ...extraDirs].map(holdDirectory).filter(dir => dir !== undefined) : []
  const roots = (isPinned ? held.map(({ path }) => path) : [root, ...extraDirs].map(real)).filter(
    dir => dir !== undefined,
  )
  const dots = roots.map(dir => join(dir, '.git'))
  const links = dots.map(path => ({ path, target: linkAt(path) }))
  const missing = [...dots, ...roots]
    .filter(isRepository)
    .map(dir => join(dir, 'commondir'))
    .filter(path => !lstatSync(path, { throwIfNoEntry: false }))
  return () => {
    for (const path of missing) rmSync(path, { recursive: true, force: true })
    for (const { path, target } of links) if (target !== undefined) putBack(path, target)
    for (const dir of held) dir.close()
  }
}

function putBack(path: string, target: string): void {
  if (linkAt(path) === target) return
  rmSync(path, { recursive: true, force: true })
  symlinkSync(target, path)
}

function linkAt(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined
}

const isRepository = (dir: string): boolean =>
  lstatSync(join(dir, '.'), { throwIfNoEntry: false })?.isDirectory() === true &&
  lstatSync(join(dir, 'HEAD'), { throwIfNoEntry: false }) !== undefined
