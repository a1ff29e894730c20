import type { RunRecord } from '#contracts/run/run'
import type { EventHub } from '../events/hub.js'

const KEPT_RUNS = 256

/** The runs that settled last: their records and the tails of their logs, for readers who come right after the end. */
export class RecentRuns {
  readonly #records = new Map<string, RunRecord>()

  constructor(private readonly hub: EventHub) {}

  find(tenantId: string, runId: string): RunRecord | undefined {
    const record = this.#records.get(runId)
    return record?.tenant_id === tenantId ? record : undefined
  }

  /** Keeps a run that settled a moment ago, in exchange for the oldest one. */
  keep(record: RunRecord): void {
    this.#records.set(record.id, record)
    for (const oldest of this.#records.keys()) {
      if (this.#records.size <= KEPT_RUNS) return
      this.#records.delete(oldest)
      this.hub.forget(oldest)
    }
  }
}
