import { accessSync, constants, lstatSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { SandboxPolicy } from '#contracts/sandbox'
import { isBelow } from './below.js'
import { HOME_SECRETS, SYSTEM_SECRETS, toolchainDirs } from './home.js'
import { shownFile, writableTarget } from './opened-path.js'
import { rootPath } from './pinned-roots.js'
import { real } from './real-path.js'

/** One thing a command sees at `path`: the host's (or `source`) read-only or writable, or nothing. */
export interface Mount {
  readonly path: string
  /** `scratch`: empty and writable, in memory. */
  readonly kind: 'read' | 'write' | 'empty' | 'scratch'
  /** Default: what the host has at `path`. For `empty`: a file to show instead of a directory. */
  readonly source?: string
}

/** Facts of the machine a view is made from; all paths absolute. */
export interface Place {
  /** Real path of the home directory, or undefined when the user has none. */
  readonly home: string | undefined
  /** Real paths of the directories programs are found in. */
  readonly path: readonly string[]
  /** Shown where the home is, writable: toolchain caches live there. */
  readonly privateHome: string
  /** Shown as /tmp and /var/tmp; without it they are scratch. */
  readonly privateTemp: string | undefined
  /** An empty file and an empty directory, to cover things with. */
  readonly blank: string
  readonly void: string
  /** Shown as /etc/resolv.conf, for commands in a network of their own. */
  readonly resolver?: string | undefined
  /** Hidden besides those of the policy, in every confined scope. */
  readonly hiddenPaths: readonly string[]
  /** Of the machine's own secrets those that this user could read; `readableSecrets()`. */
  readonly systemSecrets: readonly string[]
}

/**
 * What a confined command sees of the file system, parents before children: the deepest mount at a path decides, and
 * among equals the stricter. Made anew for each command, because commands create what has to be covered next time.
 */
export function fileSystemView(policy: SandboxPolicy, place: Place): readonly Mount[] {
  const isLocal = policy.scope === 'local'
  const mounts = new Map<string, Mount>()
  const show = (mount: Mount) => mounts.set(mount.path, mount)
  show({ path: '/', kind: isLocal ? 'write' : 'read' })
  if (isLocal) show({ path: '/sys', kind: 'read' })
  for (const path of ['/run', '/var/run']) if (kindOf(path) === 'directory') show({ path, kind: 'empty' })
  const resolver = real('/etc/resolv.conf')
  if (resolver && place.resolver) show({ path: resolver, kind: 'read', source: place.resolver })
  else if (resolver?.startsWith('/run/')) show({ path: resolver, kind: 'read' })
  if (!isLocal) {
    for (const path of ['/tmp', '/var/tmp'])
      if (kindOf(path) === 'directory')
        show(place.privateTemp ? { path, kind: 'write', source: place.privateTemp } : { path, kind: 'scratch' })
    for (const mount of homeView(place, policy.isReadOnly ?? false)) show(mount)
  }
  const roots = [policy.root, ...policy.extraDirs]
    .map(path => rootPath(path, policy))
    .filter(path => path !== undefined)
  for (const path of roots)
    if (!isLocal || policy.isReadOnly) show({ path, kind: policy.isReadOnly ? 'read' : 'write' })
  if (!policy.isReadOnly && !isLocal) for (const root of roots) for (const mount of gitView(root, place)) show(mount)
  for (const path of policy.shownPaths ?? []) {
    const target = shownFile(path, policy, roots)
    if (target) show({ path: target, kind: 'read' })
  }
  for (const path of policy.writablePaths ?? []) {
    const target = writableTarget(path, policy, roots)
    if (target) show({ path: target, kind: 'write' })
  }
  for (const path of hiddenPaths(policy, place)) hide(path, mounts, place)
  return [...mounts.values()].sort((one, other) => depth(one.path) - depth(other.path))
}

/**
 * The home is replaced by a private one; of the host's, only toolchains shine through, read-only. Where nothing may
 * change it is an empty one that is forgotten: what is left in a kept one acts on later commands.
 */
function* homeView({ home, path, privateHome }: Place, isReadOnly: boolean): Generator<Mount> {
  if (kindOf('/home') === 'directory') yield { path: '/home', kind: 'empty' }
  if (!home) return
  yield isReadOnly ? { path: home, kind: 'scratch' } : { path: home, kind: 'write', source: privateHome }
  for (const dir of toolchainDirs(home, path)) if (kindOf(dir) === 'directory') yield { path: dir, kind: 'read' }
}

/**
 * Hooks and config of a repository name programs that run later, outside: read-only, existing or not. The `.git`
 * directory is a mount of its own, so that it cannot be moved away and replaced. A link in the place of one of them
 * cannot be covered, only what it leads to: the whole directory is read-only then.
 */
function* gitView(root: string, place: Place): Generator<Mount> {
  const dot = join(root, '.git')
  const kind = kindOf(dot)
  if (kind === 'file') yield { path: dot, kind: 'read' }
  const git = kind === 'directory' ? dot : kind === 'link' ? real(dot) : isGitDir(root) ? root : undefined
  if (!git || (kind === 'link' && !isBelow(git, root))) return
  const control = [
    { path: join(git, 'hooks'), expected: 'directory', substitute: place.void },
    { path: join(git, 'config'), expected: 'file', substitute: place.blank },
  ] as const
  const isPlain = control.every(({ path, expected }) => [expected, 'none'].includes(kindOf(path)))
  if (!isPlain || git !== root) yield { path: git, kind: isPlain ? 'write' : 'read' }
  for (const { path, substitute } of control) {
    const target = isPlain ? path : linkTarget(path)
    if (target && isBelow(target, root)) yield covered(target, substitute)
  }
}

/** Where a link leads, also when nothing is there yet; undefined when `path` is none. */
const linkTarget = (path: string): string | undefined =>
  kindOf(path) === 'link' ? (real(path) ?? resolve(dirname(path), readlinkSync(path))) : undefined

const isGitDir = (root: string) =>
  kindOf(join(root, 'HEAD')) === 'file' && kindOf(join(root, 'objects')) === 'directory'

const covered = (path: string, substitute: string): Mount =>
  kindOf(path) === 'none' ? { path, kind: 'read', source: substitute } : { path, kind: 'read' }

function* hiddenPaths(policy: SandboxPolicy, { home, hiddenPaths, systemSecrets }: Place): Generator<string> {
  yield* policy.hiddenPaths
  yield* hiddenPaths
  if (policy.scope === 'local') return
  const isHomeShown = home !== undefined && [policy.root, ...policy.extraDirs].some(root => isBelow(home, root))
  if (isHomeShown) for (const name of HOME_SECRETS) yield join(home, name)
  yield* systemSecrets
}

/** Covers what the host has at `path`, unless a mount above already shows something else there; /dev is always another. */
function hide(path: string, mounts: Map<string, Mount>, place: Place): void {
  const target = real(path)
  if (!target || target === '/' || isBelow(target, '/dev')) return
  const above = nearest(target, mounts)
  if (above.path !== target && (above.source !== undefined || COVERING.has(above.kind))) return
  if (above.path === target && above.kind === 'empty') return
  const isDirectory = kindOf(target) === 'directory'
  mounts.set(target, { path: target, kind: 'empty', ...(isDirectory ? {} : { source: place.blank }) })
}

const COVERING: ReadonlySet<Mount['kind']> = new Set(['empty', 'scratch'])

function nearest(path: string, mounts: ReadonlyMap<string, Mount>): Mount {
  for (let at = path; ; at = dirname(at)) {
    const mount = mounts.get(at)
    if (mount) return mount
    if (at === '/') return { path: '/', kind: 'read' }
  }
}

type Kind = 'file' | 'directory' | 'link' | 'none'

function kindOf(path: string): Kind {
  let stats: Stats | undefined
  try {
    stats = lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return 'none'
  }
  if (!stats) return 'none'
  return stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'directory' : 'file'
}

/** What only root can read is in the way only when the daemon is root. */
export const readableSecrets = (): readonly string[] => SYSTEM_SECRETS.filter(isReadable)

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

const depth = (path: string): number => (path === '/' ? 0 : path.split('/').length)
