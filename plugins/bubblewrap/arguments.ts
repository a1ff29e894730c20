import type { SandboxPolicy } from '#contracts/sandbox'
import type { Mount } from './view.js'

/** File descriptors that the spawner opens for every launcher; see `spawner.ts`. */
export const OPTIONS_FD = 7
export const STATUS_FD = 8
export const FILTER_FD = 9
/** Of a launcher that is held: it writes what the one brings when its mounts are made, and waits for a byte of the other. */
export const MOUNTED_FD = 5
export const GO_FD = 4

const COVER_BYTES = 16 * 1024 * 1024
const SCRATCH_BYTES = 1024 * 1024 * 1024

export interface Invocation {
  readonly bwrap: string
  readonly policy: SandboxPolicy
  /** Of a confined command; not looked at for `unrestricted`. */
  readonly mounts: readonly Mount[]
  /** Started by the shell of a private network. */
  readonly hasNetwork: boolean
  /** Says on its standard output when the mounts are made, and waits before it starts the command. */
  readonly isHeld: boolean
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly argv: readonly string[]
  /** Whom the daemon runs as. */
  readonly user: { readonly uid: number; readonly gid: number }
}

/**
 * The launcher's command line and the options it reads from OPTIONS_FD: what is on the command line shows in a command's
 * process list. The command is a child of bwrap's own pid 1, which reaps what it leaves behind.
 */
export function bwrapArguments(invocation: Invocation) {
  const { bwrap, policy, cwd, env, argv, user } = invocation
  const isConfined = policy.scope !== 'unrestricted'
  const options = [
    ...(isConfined ? confinement(invocation) : bareProcessSpace(user.uid === 0)),
    ...['--unshare-pid', '--die-with-parent', '--new-session', '--json-status-fd', String(STATUS_FD)],
    '--clearenv',
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', cwd],
  ]
  return { argv: [bwrap, '--args', String(OPTIONS_FD), '--', ...argv], options }
}

const confinement = ({ policy, mounts, hasNetwork, isHeld, user }: Invocation): readonly string[] => [
  ...mounts.filter(({ path }) => path === '/').flatMap(mountArguments),
  // bwrap covers /proc/sys only where it finds the directory writable; root in a namespace of its own does not, and
  // could still write the kernel's settings in it.
  ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
  ...mounts.filter(({ path }) => path !== '/').flatMap(mountArguments),
  // Written from inside, where this names the launcher's own output; of both descriptors nothing is left to the command.
  ...(isHeld ? ['--file', String(MOUNTED_FD), '/proc/self/fd/1', '--block-fd', String(GO_FD)] : []),
  ...['--unshare-user', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--hostname', 'sandbox'],
  ...(policy.network === 'deny' ? ['--unshare-net'] : []),
  // In the user namespace that owns the network, the daemon's user is root.
  ...(hasNetwork ? ['--uid', String(user.uid), '--gid', String(user.gid)] : []),
  ...['--cap-drop', 'ALL', '--seccomp', String(FILTER_FD)],
]

/** No limits, only a process space that ends as a whole and from which the daemon's own process is not to be seen. */
const bareProcessSpace = (isRoot: boolean): readonly string[] => [
  ...['--dev-bind', '/', '/', '--proc', '/proc'],
  ...(isRoot ? ['--cap-add', 'ALL'] : []),
]

function mountArguments({ path, kind, source }: Mount): readonly string[] {
  if (kind === 'write') return ['--bind', source ?? path, path]
  if (kind === 'read' || source !== undefined) return ['--ro-bind', source ?? path, path]
  if (kind === 'scratch') return ['--perms', '1777', '--size', String(SCRATCH_BYTES), '--tmpfs', path]
  return ['--size', String(COVER_BYTES), '--tmpfs', path]
}
