import { setTimeout as delay } from 'node:timers/promises'
import { isFailure, messageOf } from '#contracts/errors'
import type { Events } from '#contracts/event/events'
import type { Notices } from '#contracts/notices'
import type { PluginLog } from '#contracts/plugin'
import { completionOf, endOf, type JobEnd, lostEnd, noticeOf } from './job-end.js'
import type { Job, JobTable } from './job-table.js'
import type { JobTraces } from './job-traces.js'

const TRY_AGAIN_MS = 1_000

export interface JobEndsDeps {
  readonly events: Pick<Events, 'tell'>
  readonly traces: JobTraces
  /** Absent: the next run of the conversation is not told. */
  readonly notices: Notices | undefined
  readonly log: PluginLog
}

/**
 * Tells the end of every job: `job.completed` to those who follow the conversation, a notice to its next run. At first of
 * the jobs that were lost with a former process. Ends when the signal fires; what is not told by then is told by the
 * next generation, or by the next process as lost.
 */
export async function tellEnds(table: JobTable, deps: JobEndsDeps, signal: AbortSignal): Promise<void> {
  signal.addEventListener('abort', () => table.wake(), { once: true })
  await persistently(deps, signal, async () => {
    for await (const { tenantId, trace } of deps.traces.foreign(table.id)) await tell(deps, lostEnd(tenantId, trace))
  })
  for (let job = await nextEnded(table, signal); job; job = await nextEnded(table, signal)) {
    const end = endOf(job)
    await persistently(deps, signal, () => tell(deps, end))
    if (!signal.aborted) table.untold.shift()
  }
  table.wake = () => undefined
}

async function nextEnded(table: JobTable, signal: AbortSignal): Promise<Job | undefined> {
  while (table.untold.length === 0 && !signal.aborted)
    await new Promise<void>(resolve => {
      table.wake = resolve
    })
  return signal.aborted ? undefined : table.untold[0]
}

/** Told twice (a process was killed in the middle of it), it is the same notice and the same event. */
async function tell({ events, traces, notices }: JobEndsDeps, end: JobEnd): Promise<void> {
  const { tenantId, trace } = end
  await notices?.post(tenantId, trace.conversation_id, { id: trace.shell_id, text: noticeOf(end) })
  await events.tell(tenantId, trace.run_id, { type: 'job.completed', mark: trace.mark, payload: completionOf(end) })
  await traces.remove(tenantId, trace.shell_id)
}

/** Does it again for as long as the store cannot answer; any other failure is logged and leaves it at that. */
async function persistently({ log }: JobEndsDeps, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted)
    try {
      return await work()
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the end of a background job was not told')
      if (!isFailure(error, 'store_unavailable')) return
      await delay(TRY_AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
}
