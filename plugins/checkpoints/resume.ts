import type { ResumeBody } from '#contracts/checkpoint'
import { Failure } from '#contracts/errors'
import type { Identity } from '#contracts/identity'
import type { RunCeilings } from '#contracts/run/ceilings'
import type { Runs } from '#contracts/run/runs'
import type { KeptCheckpoint, StoredCheckpoints } from './stored-checkpoints.js'

type Payload = Readonly<Record<string, unknown>>

/**
 * Resumes a checkpoint; resolves when that is durable and has won. Fails with `not_found`, and with `conflict` when it
 * was resolved before or its run ends, and `forbidden` when its run reaches further than the identity may.
 */
export async function resume(
  checkpoints: StoredCheckpoints,
  runs: Runs,
  ceilings: RunCeilings | undefined,
  identity: Identity,
  id: string,
  payload: Payload,
): Promise<void> {
  const { tenantId } = identity
  const checkpoint = await checkpoints.find(tenantId, id)
  if (!checkpoint) throw new Failure('not_found', `no checkpoint ${id}`)
  if (checkpoint.status !== 'pending') throw resolved(id, `it is ${checkpoint.status}`)
  const run = checkpoint.run_id === undefined ? undefined : runs.active(tenantId, checkpoint.run_id)
  if (run) await ceilings?.mayDirect(identity, run)
  const isAnswered = await postAnswer(checkpoint, runs, identity, payload)
  const settling = checkpoints.settle(tenantId, id, 'resumed', JSON.stringify(payload))
  // The run shows it as well once it has read the letter: maybe before us, maybe instead of us.
  if (isAnswered) await settling.catch(() => undefined)
  else if (!(await settling)) throw resolved(id, 'somebody else was first')
}

/** False when no run waits for an answer and the checkpoint alone decides. */
async function postAnswer(
  { id, kind, run_id: runId, letter }: KeptCheckpoint,
  runs: Runs,
  { tenantId, keyPrefix }: Identity,
  payload: Payload,
): Promise<boolean> {
  if (runId === undefined || letter === undefined) return false
  if (runs.active(tenantId, runId)?.signal.aborted) throw resolved(id, `run ${runId} is ending`)
  const body: ResumeBody = {
    ...(kind === 'user_input' ? { answers: textsOf(payload) } : { resumed: true }),
    payload,
    ...(keyPrefix && { by: keyPrefix }),
  }
  const posted = await runs.send(tenantId, runId, { ...letter, body })
  if (posted.kind === 'posted') return true
  throw resolved(id, posted.kind === 'taken' ? 'somebody else was first' : `run ${runId} is over`)
}

const textsOf = (payload: Payload): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(payload).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))

const resolved = (id: string, why: string): Failure =>
  new Failure('conflict', `checkpoint ${id} cannot be resumed: ${why}`)
