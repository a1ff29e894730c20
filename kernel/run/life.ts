import { messageOf } from '#contracts/errors'
import type { ProvisionedWorkspace } from '#contracts/hooks'
import type { PluginLog } from '#contracts/plugin'
import type { RunRecord } from '#contracts/run/run'
import type { DaemonSettings } from '#contracts/settings'
import { untilStored } from '../events/until-stored.js'
import { refuseUnhonoured } from './admission.js'
import type { RunEpoch } from './engine.js'
import type { History } from './history.js'
import { unlessAborted } from './interrupt.js'
import type { LiveRun } from './live-run.js'
import { driveRun, type Outcome, outcomeOf } from './loop.js'
import { provision } from './preflight.js'
import { settleRun } from './settle.js'

export interface LifeDeps {
  readonly settings: DaemonSettings
  readonly history: History
  readonly intended: ReadonlySet<string>
  readonly log: PluginLog
}

/** A run from its place in the queue to its terminal event. Undefined: it was left for another process to go on with. */
export async function runToEnd(live: LiveRun, epoch: RunEpoch, deps: LifeDeps): Promise<RunRecord | undefined> {
  let workspace: ProvisionedWorkspace | undefined
  let outcome: Outcome
  const waits = (error: unknown): void =>
    deps.log.warn({ run: live.id, error: messageOf(error) }, 'run waits for its store')
  try {
    if (live.isClaimed && (await untilStored(() => hasCancelLetter(live), waits))) live.interrupt('cancelled')
    live.signal.throwIfAborted()
    // A plugin that limited the run may be gone since its admission; it must not go on without that limit.
    if (live.isResumed) refuseUnhonoured(live.request, epoch.honoured)
    if (live.status === 'queued') live.moveTo('running')
    workspace = await provision(live)
    outcome = await driveRun(live, {
      tools: epoch.tools,
      retries: { maxAttempts: deps.settings.retryMaxAttempts, maxTotalSec: deps.settings.retryMaxTotalSec },
      loadHistory: () =>
        unlessAborted(
          untilStored(() => historyOf(live, deps.history), waits),
          live.signal,
        ),
      intended: deps.intended,
    })
  } catch (error) {
    outcome = outcomeOf(error)
  }
  if (outcome.kind === 'released') {
    await live.durable().catch(() => undefined)
    await live.store.release(live.hold).catch(() => undefined)
    return undefined
  }
  const record = await settleRun(live, outcome, { history: deps.history, workspace, log: deps.log })
  live.hooks.runSettled.promise(record).catch((error: unknown) => {
    deps.log.error({ run: record.id, error: messageOf(error) }, 'a plugin failed after the run settled')
  })
  return record
}

const hasCancelLetter = async (live: LiveRun): Promise<boolean> =>
  (await live.store.letters(live.id)).some(letter => letter.kind === 'cancel')

/** A conversation of the run's own has no history; a rewritten transcript holds all of it already. */
const historyOf = async (live: LiveRun, history: History) =>
  live.isRewritten || live.conversationId === live.id ? [] : history.load(live.tenantId, live.conversationId)
