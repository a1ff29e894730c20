import type { PendingCall } from './hooks.js'
import type { ActiveRun } from './run/active-run.js'
import type { PermissionRule } from './run/policy.js'

/** One of several ways to say yes; the approve route names it by `id`. */
export interface ApprovalOption {
  readonly id: string
  readonly label: string
  readonly description?: string
}

/** What somebody is asked to allow. */
export interface ApprovalQuestion {
  /** Unique within the step; the approve and deny routes may name it. */
  readonly callId: string
  readonly tool: string
  /** JSON text, shown as it is. An approval holds for exactly this text and no other. */
  readonly arguments: string
  readonly options?: readonly ApprovalOption[]
}

/**
 * `approved` is the only yes; `option` is the one that was picked, if it is among those offered. `denied`: somebody said
 * no, `message` is what they added. `resumed`: the checkpoint was resumed, which is no approval. `timed_out`: nobody
 * answered in time. `unattended`: the run has nobody to ask (`permissions.unattended: deny`), so nobody was.
 */
export type ApprovalOutcome =
  | { readonly kind: 'approved'; readonly option?: ApprovalOption }
  | { readonly kind: 'denied'; readonly message?: string }
  | { readonly kind: 'resumed' }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'unattended' }

/** Asking a person and waiting for the answer. */
export interface Approvals {
  /**
   * Parks the run in `waiting_for_approval` until somebody approves, denies or resumes, or the time is up; emits
   * `tool.approval_required` and then `_granted` or `_denied`. One question of a run is pending at a time: further ones
   * wait their turn. Ask again with the same question after a restart: the same call is pending with the same deadline,
   * or its answer comes at once. Exactly one answer wins. Throws when the run is cancelled or the daemon stops, and a
   * `Failure` when the run is to fail unattended (`permissions.unattended: fail`): let both through.
   */
  ask(run: ActiveRun, question: ApprovalQuestion): Promise<ApprovalOutcome>
}

/** The permission rules of runs, for whoever carries out tool calls in other ways than the run loop. */
export interface PermissionRules {
  /** The effect of the rule that decides; undefined when none matches. What cannot be evaluated is `deny`. */
  effectOn(call: PendingCall, run: ActiveRun): Promise<PermissionRule['effect'] | undefined>
}
