import { lstatSync, realpathSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import type { SandboxPolicy } from '#contracts/sandbox'
import { HOME_SECRETS, SYSTEM_SECRETS, toolchainDirs } from './home.js'

/** Facts of the machine; all paths absolute and real. */
export interface Place {
  readonly home: string | undefined
  /** Directories programs are found in. */
  readonly path: readonly string[]
  /** HOME of the commands. */
  readonly privateHome: string
  /** TMPDIR of the commands. */
  readonly temp: string
  /** The host's temporary directories. */
  readonly hostTemp: readonly string[]
  readonly hiddenPaths: readonly string[]
}

/** What a confined command may touch. A later list overrules an earlier one, and so does a deeper path of the same. */
export interface Reach {
  readonly unreadable: readonly string[]
  readonly readable: readonly string[]
  readonly writable: readonly string[]
  readonly unwritable: readonly string[]
  /** Single files or folders that are opened in spite of all that. */
  readonly shown: readonly string[]
  readonly opened: readonly string[]
}

export function reachOf(policy: SandboxPolicy, place: Place): Reach {
  const roots = rootsOf(policy)
  const hidden = [...policy.hiddenPaths, ...place.hiddenPaths].flatMap(path => real(path) ?? resolve(path))
  const own = [place.privateHome, place.temp]
  const isLocal = policy.scope === 'local'
  const isHomeShown = place.home !== undefined && roots.some(root => isBelow(place.home ?? '', root))
  const home = place.home === undefined ? [] : [place.home]
  const secrets = isHomeShown ? home.flatMap(dir => HOME_SECRETS.map(name => join(dir, name))) : home
  return {
    unreadable: isLocal ? hidden : [...place.hostTemp, ...secrets, ...SYSTEM_SECRETS, ...hidden],
    readable: isLocal ? [] : [...roots, ...home.flatMap(dir => toolchainDirs(dir, place.path)), ...own],
    writable: isLocal ? ['/'] : [...(policy.isReadOnly ? [] : roots), ...own, ...DEVICES],
    unwritable: [
      ...hidden,
      ...(isLocal || policy.isReadOnly ? [] : roots.flatMap(gitControlFiles)),
      ...(isLocal && policy.isReadOnly ? roots : []),
      ...(isHomeShown && !isLocal ? secrets : []),
    ],
    shown: (policy.shownPaths ?? []).flatMap(path => openedPath(path, policy, roots) ?? []),
    opened: (policy.writablePaths ?? []).flatMap(path => {
      const target = openedPath(path, policy, roots)
      return target === undefined || isHidden(target, policy, roots) ? [] : target
    }),
  }
}

/** Where a command's words may go besides files: its own output by name, and the terminal it does not have. */
const DEVICES = ['/dev/stdout', '/dev/stderr', '/dev/fd', '/dev/tty']

/** Hooks, config and what leads to another config name programs that run later, outside; existing or not. */
function gitControlFiles(root: string): readonly string[] {
  const dot = join(root, '.git')
  const isFile = lstatSync(dot, { throwIfNoEntry: false })?.isFile() ?? false
  const git = isFile ? [] : [real(dot) ?? dot, ...(real(join(root, 'objects')) ? [root] : [])]
  return [
    ...(isFile ? [dot] : []),
    ...git.flatMap(dir => ['hooks', 'config', 'config.worktree', 'commondir'].map(name => join(dir, name))),
  ]
}

/** The real path beneath a root; undefined when it leads elsewhere, behind a link, or to a file with a second name. */
function openedPath(path: string, { root, extraDirs }: SandboxPolicy, roots: readonly string[]): string | undefined {
  const wanted = resolve(root, path)
  const given = [root, ...extraDirs].find(top => isBelow(wanted, resolve(top)) && wanted !== resolve(top))
  const top = given === undefined ? roots.find(dir => isBelow(wanted, dir) && wanted !== dir) : real(given)
  if (top === undefined) return undefined
  const target = given === undefined ? wanted : join(top, relative(resolve(given), wanted))
  let at = top
  for (const name of relative(top, target).split(sep)) {
    at = join(at, name)
    const stats = lstatSync(at, { throwIfNoEntry: false })
    if (!stats) break
    if (stats.isSymbolicLink() || (at !== target && !stats.isDirectory())) return undefined
    if (at === target && !stats.isDirectory() && (!stats.isFile() || stats.nlink > 1)) return undefined
  }
  return target
}

function isHidden(target: string, policy: SandboxPolicy, roots: readonly string[]): boolean {
  if ((policy.shownPaths ?? []).some(path => openedPath(path, policy, roots) === target)) return false
  return policy.hiddenPaths.some(path => [resolve(path), real(path)].some(at => at && isBelow(target, at)))
}

/** Real paths of the workspace and what is treated as it. */
export const rootsOf = ({ root, extraDirs }: SandboxPolicy): readonly string[] =>
  [root, ...extraDirs].flatMap(path => real(path) ?? [])

/** The real path, or undefined when there is nothing. */
export function real(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

/** True for a path beneath `root`, and for `root` itself. */
export const isBelow = (path: string, root: string): boolean =>
  path === root || path.startsWith(root === '/' ? '/' : `${root}/`)
