import { messageOf } from '#contracts/errors'
import type { ProvisionedWorkspace } from '#contracts/hooks'
import type { RunRecord } from '#contracts/run/run'
import { untilStored } from '../events/until-stored.js'
import { unlessAborted } from '../waits.js'
import { refuseUnhonoured } from './admission.js'
import type { History } from './history.js'
import type { LiveRun } from './live-run.js'
import { driveRun, type Outcome, outcomeOf } from './loop.js'
import { provision } from './preflight.js'
import { settleRun } from './settle.js'
import type { RetryBounds } from './turn.js'

export interface LifeDeps {
  readonly retries: RetryBounds
  readonly history: History
  /** Request fields the run's epoch gives effect to. */
  readonly honoured: ReadonlySet<string>
}

/** A run from its place in the queue to its terminal event. Undefined: it was left for another process to go on with. */
export async function runToEnd(
  live: LiveRun,
  { retries, history, honoured }: LifeDeps,
): Promise<RunRecord | undefined> {
  let workspace: ProvisionedWorkspace | undefined
  let outcome: Outcome
  try {
    if (live.isClaimed && (await untilStored(live, () => hasCancelLetter(live)))) live.interrupt('cancelled')
    live.signal.throwIfAborted()
    // A plugin that limited the run may be gone since its admission; it must not go on without that limit.
    if (live.isResumed) refuseUnhonoured(live.request, honoured)
    if (live.status === 'queued') live.moveTo('running')
    workspace = await provision(live)
    const loadHistory = () =>
      unlessAborted(
        untilStored(live, () => historyOf(live, history)),
        live.signal,
      )
    outcome = await driveRun(live, retries, loadHistory)
  } catch (error) {
    outcome = outcomeOf(error)
  }
  if (outcome.kind === 'released') {
    await live.durable().catch(() => undefined)
    await live.store.release(live.hold).catch(() => undefined)
    return undefined
  }
  const record = await settleRun(live, outcome, history, workspace)
  live.hooks.runSettled.promise(record).catch((error: unknown) => {
    live.log.error({ run: record.id, error: messageOf(error) }, 'a plugin failed after the run settled')
  })
  return record
}

const hasCancelLetter = async (live: LiveRun): Promise<boolean> =>
  (await live.store.letters(live.id)).some(letter => letter.kind === 'cancel')

/** A conversation of the run's own has no history; a rewritten transcript holds all of it already. */
const historyOf = async (live: LiveRun, history: History) =>
  live.isRewritten || live.conversationId === live.id ? [] : history.load(live.tenantId, live.conversationId)
