import { Failure } from '#contracts/errors'
import type { Identity } from '#contracts/identity'
import type { RunCeilings } from '#contracts/run/ceilings'
import type { Runs } from '#contracts/run/runs'
import type { Answer, Decision } from './answer-letter.js'
import { APPROVAL_LETTER, type PendingApproval, pendingOf } from './approval-state.js'
import type { CheckpointView } from './checkpoint-view.js'

export interface AnsweringDeps {
  readonly runs: Runs
  readonly checkpoints: CheckpointView
  readonly ceilings: RunCeilings | undefined
}

/** What whoever answers was shown; nothing: whatever is pending. A call id may come again in a run, a checkpoint never. */
export interface Shown {
  readonly call_id?: string | undefined
  readonly checkpoint_id?: string | undefined
}

/**
 * Answers the pending call of a run; resolves when the answer is durable and has won. Fails with `not_found` when
 * nothing is pending, with `conflict` when another call is, or somebody else was first, with `forbidden` when the run
 * reaches further than whoever answers may.
 */
export async function answerPending(
  { runs, checkpoints, ceilings }: AnsweringDeps,
  identity: Identity,
  runId: string,
  shown: Shown,
  decision: Decision,
): Promise<void> {
  const { tenantId, keyPrefix } = identity
  const run = runs.active(tenantId, runId)
  const status = run?.status ?? (await runs.read(tenantId, runId))?.status
  if (!status) throw new Failure('not_found', `no run ${runId}`)
  const pending = run && pendingOf(run)
  // What was pending may have been left behind by a process that knew plugins this one does not have.
  if (!pending || status !== 'waiting_for_approval') throw nothingPending(runId, status)
  refuseOther(shown, pending)
  if (run.signal.aborted) throw new Failure('conflict', `run ${runId} is ending; its call will not run`)
  await ceilings?.mayDirect(identity, run)
  const body: Answer = { ...decision, ...(keyPrefix && { by: keyPrefix }) }
  const posted = await runs.send(tenantId, runId, { kind: APPROVAL_LETTER, key: pending.key, body })
  if (posted.kind === 'taken') throw new Failure('conflict', `${pending.call_id} was already answered`)
  if (posted.kind !== 'posted') throw nothingPending(runId, posted.kind === 'refused' ? posted.status : 'ending')
  // The run shows it as well once it has read the letter; whoever looks before that must not take it for pending.
  await checkpoints.settle(run, pending.checkpoint_id, decision.decision)
}

function refuseOther(shown: Shown, pending: PendingApproval): void {
  for (const field of ['call_id', 'checkpoint_id'] as const)
    if (shown[field] !== undefined && shown[field] !== pending[field])
      throw new Failure(
        'conflict',
        `${field}: ${pending[field] ?? 'another'} is waiting for approval, not ${shown[field]}`,
        {
          details: { pending: pending[field] },
        },
      )
}

const nothingPending = (runId: string, status: string): Failure =>
  new Failure('not_found', `nothing is waiting for approval in run ${runId}; it is ${status}`)
