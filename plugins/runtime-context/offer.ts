import { messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'
import type { ActiveRun } from '#contracts/run/active-run'
import type { NoticeQueue } from './notice-queue.js'

const OFFERED = Symbol('notices offered to the run')
const NOTHING = Promise.resolve<readonly string[]>([])

/** What a run is to know of what happened before it: asked for at its first turn, the same in all that follow. */
export function noticesFor(run: ActiveRun, queue: NoticeQueue, log: PluginLog): Promise<readonly string[]> {
  // Nothing can have happened in a conversation that the run itself began.
  if (run.conversationId === run.id) return NOTHING
  return run.slot(OFFERED, () => {
    const asked = run.turns > 0 ? queue.given(run) : queue.take(run)
    // A run goes on without its notices; they wait for the next.
    return asked.catch((error: unknown) => {
      log.warn({ run: run.id, error: messageOf(error) }, 'notices not read')
      return NOTHING
    })
  })
}

/** Call when the run settles. */
export async function dropOffered(run: ActiveRun, queue: NoticeQueue): Promise<void> {
  const offered = await run.slot(OFFERED, () => NOTHING)
  if (offered.length > 0) await queue.drop(run)
}
