import { createHash } from 'node:crypto'
import type { ApprovalOption, ApprovalOutcome, ApprovalQuestion } from '#contracts/approval'
import type { ActiveRun } from '#contracts/run/active-run'

/** Kind of the letters that answer an approval. */
export const APPROVAL_LETTER = 'approval'
const NOTE = 'approvals.state'

/** The call a run waits with. */
export interface PendingApproval {
  /** Key of the one letter that can answer. */
  readonly key: string
  readonly call_id: string
  readonly tool: string
  readonly deadline_at: string
  readonly options?: readonly ApprovalOption[]
  readonly checkpoint_id?: string
}

/** An answer, and the checkpoint that shows it. */
export interface Decided {
  readonly outcome: ApprovalOutcome
  readonly checkpoint_id?: string
}

interface ApprovalState {
  readonly pending?: PendingApproval
  /** Answers of the current step: a restart finds them instead of asking again. */
  readonly decided?: { readonly step: number; readonly answers: Readonly<Record<string, Decided>> }
}

const stateOf = (run: ActiveRun): ApprovalState => (run.note(NOTE) as ApprovalState | undefined) ?? {}

export const pendingOf = (run: ActiveRun): PendingApproval | undefined => stateOf(run).pending

/** The answer that was given to the question in this step, also by a former process. */
export function decidedOf(run: ActiveRun, key: string): Decided | undefined {
  const { decided } = stateOf(run)
  return decided?.step === run.step ? decided.answers[key] : undefined
}

export function notePending(run: ActiveRun, pending: PendingApproval): void {
  run.setNote(NOTE, { ...stateOf(run), pending })
}

/** Nothing is pending any more. */
export function noteDecided(run: ActiveRun, key: string, decision: Decided): void {
  const { decided } = stateOf(run)
  const before = decided?.step === run.step ? decided.answers : {}
  run.setNote(NOTE, { decided: { step: run.step, answers: { ...before, [key]: decision } } })
}

/**
 * Names the one answer to a question. The arguments are part of it, so that no answer counts for others than were shown;
 * the step is, because models use call ids again.
 */
export function keyOf(step: number, { callId, tool, arguments: args }: ApprovalQuestion): string {
  const digest = createHash('sha256').update(JSON.stringify([step, callId, tool, args]))
  return `${APPROVAL_LETTER}:${digest.digest('hex')}`
}
