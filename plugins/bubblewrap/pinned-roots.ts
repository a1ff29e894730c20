import { closeSync, constants, openSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { SandboxPolicy } from '#contracts/sandbox'
import { isBelow } from './below.js'
import { MountTable } from './mount-table.js'
import { real } from './real-path.js'
import type { Mount } from './view.js'

/** The path of a root to work with: of a pinned one the very path, else what it leads to. */
export const rootPath = (path: string, { isPinned }: SandboxPolicy): string | undefined =>
  isPinned ? path : real(path)

/**
 * Where a command starts, as a path for inside the sandbox. Below a pinned root it is left as it was said: resolved out
 * here it would be what a root that is a link for this moment leads to, while the mounts are in order again.
 */
export function directoryPath(cwd: string, { isPinned, root, extraDirs }: SandboxPolicy): string {
  if (isPinned && [root, ...extraDirs].some(dir => isBelow(cwd, dir))) return cwd
  return real(cwd) ?? cwd
}

/** The first pinned root that is not its own real path any more. */
export const replacedRoot = ({ root, extraDirs, isPinned }: SandboxPolicy): string | undefined =>
  isPinned ? [root, ...extraDirs].find(path => real(path) !== path) : undefined

/** Why a command does not start whose root changed under it. */
export const replaced = (path: string): string =>
  `${path} is not the directory any more that the run was admitted with: it was moved, or replaced by a link, perhaps ` +
  'by another run that works in the directory above. Nothing was run.'

/** The mounts that have to be looked at before a command may start: pinned roots and what lies in them. */
export function pinnedMounts(mounts: readonly Mount[], policy: SandboxPolicy): readonly Mount[] {
  if (!policy.isPinned) return []
  const roots = [policy.root, ...policy.extraDirs].filter(path => path !== '/')
  return mounts.filter(({ path }) => roots.some(root => isBelow(path, root)))
}

const PATIENCE_ROUNDS = 2000

/**
 * The path of the first mount that is not where it was ordered, or not of what has that path on this machine. The names
 * are those of the file system, so that a link that was there for a moment shows. `pid` is a launcher that has made its
 * mounts and waits, or soon will.
 */
export async function misplacedMount(mounts: readonly Mount[], pid: number): Promise<string | undefined> {
  for (let round = 0; ; round++) {
    // While it moves to its new root, what is in order can look wrong; what is wrong never looks in order.
    const isSettled = round > 0 && (hasDroppedCapabilities(pid) || round > PATIENCE_ROUNDS)
    const found = misplacedNow(mounts, pid)
    if (found === undefined || isSettled) return found
    if (round > 0) await delay(1)
  }
}

/** Of the daemon; made anew when something differs from it. Only an administrator of the machine changes it. */
let own: MountTable | undefined

const bytes = Buffer.alloc(32 * 1024)

/** As `readFileSync` would, for half of its cost: what lies in /proc has no size that it could go by. */
function mountsOf(pid: number | 'self'): string {
  const fd = openSync(`/proc/${pid}/mountinfo`, constants.O_RDONLY)
  try {
    let text = ''
    for (;;) {
      const count = readSync(fd, bytes, 0, bytes.length, null)
      if (count === 0) return text
      text += bytes.toString('latin1', 0, count)
    }
  } finally {
    closeSync(fd)
  }
}

function misplacedNow(mounts: readonly Mount[], pid: number): string | undefined {
  const inside = new MountTable(mountsOf(pid))
  const first = own && firstMisplaced(mounts, inside, own)
  if (own && first === undefined) return undefined
  own = new MountTable(mountsOf('self'))
  return firstMisplaced(mounts, inside, own)
}

function firstMisplaced(mounts: readonly Mount[], inside: MountTable, outside: MountTable): string | undefined {
  return mounts.find(({ path: text, kind, source }) => {
    const path = Buffer.from(text).toString('latin1')
    const found = inside.locate(path)
    if (found?.mountPoint !== path) return true
    if (source !== undefined || kind === 'empty' || kind === 'scratch') return false
    const wanted = outside.locate(path)
    return wanted?.device !== found.device || wanted.name !== found.name
  })?.path
}

/** It does so when it needs to mount nothing any more. */
const hasDroppedCapabilities = (pid: number): boolean =>
  /^CapEff:\t0+$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))

/** A directory under a name that goes on meaning it, whatever happens to its path. */
export interface HeldDirectory {
  readonly path: string
  close(): void
}

/** Undefined when `path` is no directory, or not its own real path. */
export function holdDirectory(path: string): HeldDirectory | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    const [held, number] = [`/proc/self/fd/${fd}`, fd]
    if (readlinkSync(held) === path) return { path: held, close: () => closeSync(number) }
  } catch {
    // Gone, or a link by now.
  }
  if (fd !== undefined) closeSync(fd)
  return undefined
}
