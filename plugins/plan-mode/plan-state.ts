import type { ActiveRun } from '#contracts/run/active-run'

/** Where a run stands. Part of its journal: a restart changes nothing, and without a note the request decides. */
export interface PlanState {
  readonly mode: 'inactive' | 'active' | 'exit_pending'
  /** Version of the plan file when planning began, or began anew; empty for none. */
  readonly firstVersion?: string
  /** A call that could write the plan file was let through since then: what it holds may be this run's. */
  readonly mayHaveWritten?: boolean
  /** What somebody is asked to approve, and the version of the plan file then. */
  readonly pending?: { readonly callId: string; readonly plan: string; readonly version?: string }
}

const NOTE = 'plan-mode.state'

export const stateOf = (run: ActiveRun): PlanState =>
  (run.note(NOTE) as PlanState | undefined) ?? { mode: run.request.plan_mode ? 'active' : 'inactive' }

export const setState = (run: ActiveRun, state: PlanState): void => run.setNote(NOTE, state)

/** True until the plan is approved. */
export const isPlanning = (run: ActiveRun): boolean => stateOf(run).mode !== 'inactive'
