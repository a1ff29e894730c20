import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { SandboxPolicy } from '#contracts/sandbox'
import { holdDirectory, rootPath } from './pinned-roots.js'
import { real } from './real-path.js'

/**
 * Where a writable path of a policy lies, or undefined when it may not be opened: outside of the roots, behind a link, or
 * a file that has a second name elsewhere. Only what exists can be mounted, so a missing file is made, empty, with its
 * parents.
 */
export function writableTarget(path: string, policy: SandboxPolicy, roots: readonly string[]): string | undefined {
  const target = beneath(path, policy, roots)
  if (!target || isHidden(target, policy)) return undefined
  const isThere = withinRoot(target, policy, (top, at) => {
    if (!isPlainDirectory(dirname(at), top, true)) return false
    try {
      writeFileSync(at, '', { flag: 'wx' })
      return true
    } catch {
      const stats = lstatSync(at, { throwIfNoEntry: false })
      return stats?.isDirectory() || (stats?.isFile() && stats.nlink === 1)
    }
  })
  return isThere ? target.path : undefined
}

/** Where a file that stays visible lies, or undefined when there is none or a link is on the way. */
export function shownFile(path: string, policy: SandboxPolicy, roots: readonly string[]): string | undefined {
  const target = beneath(path, policy, roots)
  if (!target) return undefined
  const isThere = withinRoot(target, policy, (top, at) => {
    const stats = isPlainDirectory(dirname(at), top, false) && lstatSync(at, { throwIfNoEntry: false })
    return stats ? stats.isFile() && stats.nlink === 1 : false
  })
  return isThere ? target.path : undefined
}

/** Looks at a path below its root; below a pinned one by the directory itself, which cannot be swapped for a link. */
function withinRoot(
  { root, path }: Target,
  { isPinned }: SandboxPolicy,
  look: (top: string, at: string) => boolean | undefined,
): boolean | undefined {
  if (!isPinned) return look(root, path)
  const held = holdDirectory(root)
  if (!held) return false
  try {
    return look(held.path, join(held.path, relative(root, path)))
  } finally {
    held.close()
  }
}

interface Target {
  readonly root: string
  readonly path: string
}

/** The path below the real name of the root it belongs to. */
function beneath(path: string, policy: SandboxPolicy, roots: readonly string[]): Target | undefined {
  const { root, extraDirs } = policy
  const wanted = resolve(root, path)
  const given = [root, ...extraDirs].find(top => isStrictlyBelow(wanted, resolve(top)))
  const top = given && rootPath(given, policy)
  if (given && top) return { root: top, path: join(top, relative(given, wanted)) }
  const real = roots.find(top => isStrictlyBelow(wanted, top))
  return real === undefined ? undefined : { root: real, path: wanted }
}

/** In a hidden place, and not one of the files that stay visible there. */
function isHidden({ path }: Target, policy: SandboxPolicy): boolean {
  const { root, hiddenPaths, shownPaths = [] } = policy
  const top = rootPath(root, policy) ?? root
  if (shownPaths.some(shown => join(top, relative(root, resolve(root, shown))) === path)) return false
  return hiddenPaths.some(hidden => [resolve(hidden), real(hidden)].some(at => at && `${path}/`.startsWith(`${at}/`)))
}

const isStrictlyBelow = (path: string, top: string): boolean => path.startsWith(top.endsWith(sep) ? top : top + sep)

/** Every name from the root down is a directory and no link; `isToBeMade` makes what is missing. */
function isPlainDirectory(path: string, root: string, isToBeMade: boolean): boolean {
  let at = root
  for (const name of relative(root, path).split(sep).filter(Boolean)) {
    at = join(at, name)
    const stats = lstatSync(at, { throwIfNoEntry: false })
    if (stats?.isDirectory()) continue
    if (stats || !isToBeMade) return false
    mkdirSync(at)
  }
  return true
}
