import type { StoredEvent } from '#contracts/event/envelope'
import type { PluginLog } from '#contracts/plugin'
import type { RunRecord } from '#contracts/run/run'
import type { JournalEntry, RunChange, RunHold, RunStore } from '#contracts/store/run-store'
import { untilStored } from '../events/until-stored.js'
import { Interrupt } from './interrupt.js'

/** How long events gather into one commit while nobody waits for them. Far below what a person sees. */
const GATHER_MS = 4
/** More uncommitted text than this and emitters are asked to wait. */
const BACKLOG_BYTES = 256 * 1024

interface Pending {
  readonly events: StoredEvent[]
  readonly journal: JournalEntry[]
  readonly consumed: string[]
  isRecordDirty: boolean
  bytes: number
}

const nothing = (): Pending => ({ events: [], journal: [], consumed: [], isRecordDirty: false, bytes: 0 })

export interface RunWriterOptions {
  readonly store: RunStore
  readonly hold: RunHold
  /** The record as it is at the moment of writing. */
  readonly record: () => RunRecord
  /** Called with every committed change, in order, before anyone who waits for it goes on. */
  readonly committed: (change: RunChange) => void
  /** Called once, when the run turns out to be held by somebody else. Nothing is written after that. */
  readonly lost: (error: unknown) => void
  readonly log: PluginLog
}

/**
 * Turns what a run leaves behind into commits: what comes within a few milliseconds is one unit, one unit is in flight at a
 * time, what comes meanwhile is the next. A store that cannot take writes is asked again until it can; the run waits where
 * something depends on the answer.
 */
export class RunWriter {
  #pending = nothing()
  #inFlight: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isLost = false

  constructor(private readonly options: RunWriterOptions) {}

  event(event: StoredEvent): void {
    this.#pending.events.push(event)
    this.#pending.bytes += event.data.length
    this.#schedule()
  }

  journal(entry: JournalEntry): void {
    this.#pending.journal.push(entry)
    this.#schedule()
  }

  consume(letterId: string): void {
    this.#pending.consumed.push(letterId)
    this.#schedule()
  }

  /** Has the record written with the next unit. */
  touch(): void {
    this.#pending.isRecordDirty = true
    this.#schedule()
  }

  /** A promise while so much is uncommitted that emitters should wait. */
  drained(): Promise<void> | undefined {
    return this.#pending.bytes > BACKLOG_BYTES ? this.durable() : undefined
  }

  /** Resolves when everything handed in so far is committed. Rejects when the run is lost to another holder. */
  async durable(): Promise<void> {
    if (this.#inFlight) await this.#inFlight
    if (!isEmpty(this.#pending)) void this.#flush()
    if (this.#inFlight) await this.#inFlight
    if (this.#isLost) throw new Interrupt('lost')
  }

  /** Gathers for a while longer: a commit that somebody waits for follows within moments and takes all of it along. */
  linger(): void {
    this.#timer?.refresh()
  }

  #schedule(): void {
    if (this.#timer || this.#inFlight) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#flush()
    }, GATHER_MS)
  }

  #flush(): Promise<void> {
    if (this.#inFlight) return this.#inFlight
    if (isEmpty(this.#pending) || this.#isLost) {
      this.#pending = nothing()
      return Promise.resolve()
    }
    const unit = this.#pending
    this.#pending = nothing()
    const change: RunChange = {
      ...(unit.events.length > 0 && { events: unit.events }),
      ...(unit.journal.length > 0 && { journal: unit.journal }),
      ...(unit.consumed.length > 0 && { consumed: unit.consumed }),
      ...(unit.isRecordDirty && { record: this.options.record() }),
    }
    this.#inFlight = this.#commit(change).finally(() => {
      this.#inFlight = undefined
      if (!isEmpty(this.#pending)) this.#schedule()
    })
    return this.#inFlight
  }

  async #commit(change: RunChange): Promise<void> {
    const { store, hold, committed, lost, log } = this.options
    try {
      await untilStored({ id: hold.runId, log }, () => store.commit(hold, change))
      committed(change)
    } catch (error) {
      this.#isLost = true
      lost(error)
    }
  }
}

const isEmpty = (unit: Pending): boolean =>
  unit.events.length === 0 && unit.journal.length === 0 && unit.consumed.length === 0 && !unit.isRecordDirty
