import type { NetworkAccess, SandboxScope } from './run/policy.js'

/** What a command may reach. Made by the kernel from the run's frozen policy, narrowed by `sandboxShaping`. */
export interface SandboxPolicy {
  readonly scope: SandboxScope
  readonly network: NetworkAccess
  /**
   * Whose commands these are. Commands of one tenant under one policy may reach each other's servers; without a tenant
   * only those of one session may.
   */
  readonly tenantId?: string
  /** The workspace root, absolute. */
  readonly root: string
  /** Further roots that are treated as the workspace. */
  readonly extraDirs: readonly string[]
  /** As in `WorkspaceRoots`. */
  readonly isPinned?: boolean
  /** The workspace is mounted read-only, but for `writablePaths` (plan mode). */
  readonly isReadOnly?: boolean
  readonly writablePaths?: readonly string[]
  /** Single files that stay visible although they lie in a hidden place; as in `FileAccess`. */
  readonly shownPaths?: readonly string[]
  /** Paths a command must not even see: daemon state, keys, sockets. */
  readonly hiddenPaths: readonly string[]
}

export interface SandboxCommand {
  /** Program and arguments; no shell is added. */
  readonly argv: readonly [string, ...string[]]
  /** Absolute, inside the workspace. */
  readonly cwd: string
  /** Whole environment of the command besides what the sandbox itself sets (PATH, HOME, TMPDIR, LANG). */
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Called with stdout and stderr as they come; await what it returns before reading more. */
  onOutput(chunk: Uint8Array, stream: 'stdout' | 'stderr'): Promise<void> | undefined | void
  /** Milliseconds; the whole process group is killed when they are over. */
  readonly timeoutMs?: number
  /** stderr joins stdout on one pipe: the true order of lines, all of it called `stdout`. */
  readonly mergesOutput?: boolean
  /** Commands of the same name share one private /tmp until `endSession`; without it every command has its own. */
  readonly session?: string
}

export type SandboxExit =
  | { readonly kind: 'exited'; readonly code: number; readonly signal?: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'aborted' }

/** Why a policy cannot be had here, and what an operator does about it. */
export interface SandboxRefusal {
  readonly kind: 'refused'
  readonly reason: string
}

/**
 * Runs commands under a policy. Fails closed: a policy that cannot be enforced is refused with a reason that says how
 * to fix it, never loosened. When `run` settles, also by time-out, abort or daemon death, no process of it is left. The
 * launcher itself carries none of the daemon's environment.
 */
export interface Sandbox {
  readonly name: string
  /** Cheap after the first call. */
  check(policy: SandboxPolicy): Promise<SandboxRefusal | undefined>
  run(command: SandboxCommand, policy: SandboxPolicy, signal: AbortSignal): Promise<SandboxExit | SandboxRefusal>
  /** Drops what the commands of a session shared. An unknown name is fine. */
  endSession?(session: string): Promise<void>
}
