import { Failure } from '#contracts/errors'
import type { RunRecord } from '#contracts/run/run'
import type { EventHub } from '../events/hub.js'
import type { LiveRun } from './live-run.js'

/** Settled runs that stay at hand for readers who come right after the end. */
const KEPT_RUNS = 256

interface Wait {
  readonly resolve: (record: RunRecord) => void
  readonly reject: (error: unknown) => void
}

/** Whoever waits for a run that left this process unfinished is told to come back. */
export const leftUnfinished = (runId: string): Failure =>
  new Failure('unavailable', `the daemon is stopping; run ${runId} goes on when it is back`)

/** Who waits for runs to end, and the runs that ended last. */
export class Settlements {
  readonly #recent = new Map<string, RunRecord>()
  readonly #waits = new Map<string, Set<Wait>>()
  readonly #goneWaits = new Map<string, () => void>()

  /** The record of a run that settled a moment ago. */
  recent(tenantId: string, runId: string): RunRecord | undefined {
    const record = this.#recent.get(runId)
    return record?.tenant_id === tenantId ? record : undefined
  }

  settle(record: RunRecord): void {
    this.#recent.set(record.id, record)
    for (const { resolve } of this.#waits.get(record.id) ?? []) resolve(record)
    this.#waits.delete(record.id)
  }

  /** A run left memory: keeps its tail for a while, in exchange for the oldest one's. */
  retire(run: LiveRun, hub: EventHub): void {
    this.#goneWaits.get(run.id)?.()
    this.#goneWaits.delete(run.id)
    if (!this.#recent.has(run.id)) hub.forget(run.id)
    for (const { reject } of this.#waits.get(run.id) ?? []) reject(leftUnfinished(run.id))
    while (this.#recent.size > KEPT_RUNS) {
      const [oldest] = this.#recent.keys()
      if (oldest === undefined) return
      this.#recent.delete(oldest)
      hub.forget(oldest)
    }
  }

  /**
   * `settled` resolves with the record when the run settles; it rejects when the signal fires, and when the run leaves this
   * process unfinished. Call `end` when done.
   */
  wait(runId: string, signal: AbortSignal): { readonly settled: Promise<RunRecord>; end(): void } {
    const waits = this.#waits.get(runId) ?? new Set()
    this.#waits.set(runId, waits)
    let end = (): void => {}
    const settled = new Promise<RunRecord>((resolve, reject) => {
      const stop = (): void => reject(signal.reason)
      const one: Wait = { resolve, reject }
      end = () => {
        waits.delete(one)
        if (waits.size === 0) this.#waits.delete(runId)
        signal.removeEventListener('abort', stop)
      }
      waits.add(one)
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    })
    settled.catch(() => undefined)
    return { settled, end }
  }

  /** Resolves when the run has left memory. */
  gone(runId: string, isHere: () => boolean): Promise<void> {
    return isHere() ? new Promise(resolve => this.#goneWaits.set(runId, resolve)) : Promise.resolve()
  }
}
