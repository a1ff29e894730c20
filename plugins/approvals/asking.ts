import type { ApprovalOutcome, ApprovalQuestion, Approvals } from '#contracts/approval'
import { Failure } from '#contracts/errors'
import type { ActiveRun, WaitOutcome } from '#contracts/run/active-run'
import type { Runs } from '#contracts/run/runs'
import type { Letter } from '#contracts/store/run-store'
import { type Answer, authorOf, outcomeOf, payloadOf } from './answer-letter.js'
import { APPROVAL_LETTER, decidedOf, keyOf, noteDecided, notePending, pendingOf } from './approval-state.js'
import type { CheckpointView } from './checkpoint-view.js'
import { Turns } from './turns.js'

export interface AskingDeps {
  readonly runs: Runs
  readonly checkpoints: CheckpointView
  readonly timeoutMs: number
  /** The clock that expires things. */
  readonly now: () => number
}

const TURNS = Symbol('approval turns')
const STATUS = 'waiting_for_approval'

/** Asks by parking the run; the pending call, its deadline and its answer are part of the run's journal. */
export class Asking implements Approvals {
  constructor(private readonly deps: AskingDeps) {}

  async ask(run: ActiveRun, question: ApprovalQuestion): Promise<ApprovalOutcome> {
    return run.slot(TURNS, () => new Turns()).take(() => this.#ask(run, question))
  }

  /** Takes back what a run that ends still asks, so that no answer can win any more. */
  async withdraw(run: ActiveRun): Promise<void> {
    const pending = pendingOf(run)
    if (!pending) return
    const body: Answer = { decision: 'ended' }
    const posted = await this.deps.runs.send(run.tenantId, run.id, { kind: APPROVAL_LETTER, key: pending.key, body })
    const answered = posted.kind === 'taken' ? await answerThatWon(run, pending.key) : undefined
    const outcome: ApprovalOutcome = answered ? outcomeOf(answered, pending.options) : { kind: 'timed_out' }
    const { checkpoint_id } = pending
    noteDecided(run, pending.key, { outcome, ...(checkpoint_id && { checkpoint_id }) })
    if (answered) emitAnswer(run, pending, outcome, authorOf(answered))
    await this.deps.checkpoints.settle(run, checkpoint_id, outcome.kind, answered && payloadOf(answered))
  }

  async #ask(run: ActiveRun, question: ApprovalQuestion): Promise<ApprovalOutcome> {
    run.signal.throwIfAborted()
    const key = keyOf(run.step, question)
    const decided = decidedOf(run, key)
    if (decided) {
      // A former process may have ended before the checkpoint was told.
      if (run.isResumed) await this.deps.checkpoints.settle(run, decided.checkpoint_id, decided.outcome.kind)
      return decided.outcome
    }
    if (run.policy.unattended !== 'wait') return unattended(run, question, key)
    return this.#wait(run, question, key)
  }

  async #wait(run: ActiveRun, question: ApprovalQuestion, key: string): Promise<ApprovalOutcome> {
    const { callId, tool, options } = question
    const former = pendingOf(run)
    const isKnown = former?.key === key
    const deadlineAt = isKnown ? Date.parse(former.deadline_at) : this.deps.now() + this.deps.timeoutMs
    const deadline = new Date(deadlineAt).toISOString()
    const checkpointId = await this.deps.checkpoints.open(run, question, key, deadline)
    // From here to the wait nothing is awaited: what is pending, the status and the event become visible together.
    if (!isKnown)
      notePending(run, {
        key,
        call_id: callId,
        tool,
        deadline_at: deadline,
        ...(options && { options }),
        ...(checkpointId && { checkpoint_id: checkpointId }),
      })
    const announce = (): void =>
      run.emit('tool.approval_required', {
        call_id: callId,
        tool,
        arguments: question.arguments,
        deadline_at: deadline,
        ...(checkpointId && { checkpoint_id: checkpointId }),
      })
    // A run that was waiting when its process ended enters the next wait unannounced; it must be the same one.
    if (run.status === STATUS && !isKnown) announce()
    let outcome: ApprovalOutcome = { kind: 'timed_out' }
    const waited = await run.wait({
      status: STATUS,
      kind: APPROVAL_LETTER,
      key,
      deadlineAt,
      announce,
      conclude(waited) {
        const letter = letterOf(waited)
        if (letter) outcome = outcomeOf(letter, options)
        noteDecided(run, key, { outcome, ...(checkpointId && { checkpoint_id: checkpointId }) })
        emitAnswer(run, { call_id: callId, tool }, outcome, letter && authorOf(letter))
      },
    })
    const letter = letterOf(waited)
    await this.deps.checkpoints.settle(run, checkpointId, outcome.kind, letter && payloadOf(letter))
    return outcome
  }
}

function unattended(run: ActiveRun, { callId, tool }: ApprovalQuestion, key: string): ApprovalOutcome {
  if (run.policy.unattended === 'fail')
    throw new Failure(
      'execution_error',
      `${tool} needs an approval, and the run has nobody to give one (permissions.unattended: fail)`,
    )
  const outcome: ApprovalOutcome = { kind: 'unattended' }
  noteDecided(run, key, { outcome })
  emitAnswer(run, { call_id: callId, tool }, outcome)
  return outcome
}

const REASONS = { resumed: 'resumed', timed_out: 'timeout', unattended: 'unattended' } as const

function emitAnswer(
  run: ActiveRun,
  { call_id, tool }: { readonly call_id: string; readonly tool: string },
  outcome: ApprovalOutcome,
  by?: string,
): void {
  const decided = { call_id, tool, ...(by && { decided_by: by }) }
  if (outcome.kind === 'approved') run.emit('tool.approval_granted', decided)
  else if (outcome.kind === 'denied')
    run.emit('tool.approval_denied', { ...decided, ...(outcome.message && { message: outcome.message }) })
  else run.emit('tool.approval_denied', { ...decided, reason: REASONS[outcome.kind] })
}

const letterOf = (waited: WaitOutcome): Letter | undefined => (waited.kind === 'answered' ? waited.letter : undefined)

const answerThatWon = async (run: ActiveRun, key: string) =>
  (await run.takeLetters(APPROVAL_LETTER)).find(letter => letter.key === key)
