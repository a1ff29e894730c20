import type { EventCursor, StoredEvent } from '#contracts/event/envelope'
import type { ConversationEvent } from '#contracts/store/run-store'

/** A stretch of one run's events; the events themselves live with the run. */
interface Stretch {
  readonly runId: string
  readonly events: readonly StoredEvent[]
  readonly first: number
  readonly count: number
}

/** The order in which events of a conversation's runs were appended. */
export class ConversationLog {
  #stretches: Stretch[] = []
  readonly #runs = new Set<string>()

  join(runId: string): void {
    this.#runs.add(runId)
  }

  /** Call before the `count` new events are pushed to `events`. */
  append(runId: string, events: readonly StoredEvent[], count: number): void {
    this.#stretches.push({ runId, events, first: events.length, count })
  }

  /** Forgets a run; true when none is left. */
  drop(runId: string): boolean {
    this.#runs.delete(runId)
    this.#stretches = this.#stretches.filter(stretch => stretch.runId !== runId)
    return this.#runs.size === 0
  }

  page(after: EventCursor | undefined, limit: number): readonly ConversationEvent[] | 'unknown' {
    const start = after ? this.#stretches.findLastIndex(stretch => holds(stretch, after)) : 0
    if (start < 0) return 'unknown'
    const page: ConversationEvent[] = []
    for (let at = start; at < this.#stretches.length && page.length < limit; at += 1) {
      const { runId, events, first, count } = this.#stretches[at] as Stretch
      const skip = after && at === start ? after.seq + 1 - first : 0
      const end = Math.min(first + count, first + skip + limit - page.length)
      for (const event of events.slice(first + skip, end)) page.push({ runId, ...event })
    }
    return page
  }
}

const holds = ({ runId, first, count }: Stretch, { runId: wanted, seq }: EventCursor) =>
  runId === wanted && seq >= first && seq < first + count
