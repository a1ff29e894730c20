import { lstatSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { SandboxPolicy } from '#contracts/sandbox'
import { real } from './real-path.js'

/**
 * Where a writable path of a policy lies, or undefined when it may not be opened: outside of the roots, behind a link, or
 * a file that has a second name elsewhere. Only what exists can be mounted, so a missing file is made, empty, with its
 * parents.
 */
export function writableTarget(path: string, policy: SandboxPolicy, roots: readonly string[]): string | undefined {
  const target = beneath(path, policy, roots)
  if (!target || isHidden(target, policy)) return undefined
  if (!isPlainDirectory(dirname(target.path), target.root, true)) return undefined
  try {
    writeFileSync(target.path, '', { flag: 'wx' })
    return target.path
  } catch {
    const stats = lstatSync(target.path, { throwIfNoEntry: false })
    const isSafe = stats?.isDirectory() || (stats?.isFile() && stats.nlink === 1)
    return isSafe ? target.path : undefined
  }
}

/** Where a file that stays visible lies, or undefined when there is none or a link is on the way. */
export function shownFile(path: string, policy: SandboxPolicy, roots: readonly string[]): string | undefined {
  const target = beneath(path, policy, roots)
  if (!target || !isPlainDirectory(dirname(target.path), target.root, false)) return undefined
  const stats = lstatSync(target.path, { throwIfNoEntry: false })
  return stats?.isFile() && stats.nlink === 1 ? target.path : undefined
}

interface Target {
  readonly root: string
  readonly path: string
}

/** The path below the real name of the root it belongs to. */
function beneath(path: string, { root, extraDirs }: SandboxPolicy, roots: readonly string[]): Target | undefined {
  const wanted = resolve(root, path)
  const given = [root, ...extraDirs].find(top => isStrictlyBelow(wanted, resolve(top)))
  if (given)
    return { root: realpathSync.native(given), path: join(realpathSync.native(given), relative(given, wanted)) }
  const real = roots.find(top => isStrictlyBelow(wanted, top))
  return real === undefined ? undefined : { root: real, path: wanted }
}

/** In a hidden place, and not one of the files that stay visible there. */
function isHidden({ path }: Target, { root, hiddenPaths, shownPaths = [] }: SandboxPolicy): boolean {
  const top = realpathSync.native(root)
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
