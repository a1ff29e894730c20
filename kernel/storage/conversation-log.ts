import type { ConversationCursor, EventCursor, StoredEvent } from '#contracts/event/envelope'
import type { ConversationEvent, SideEvent } from '#contracts/store/run-store'

/** A stretch of one run's events, which themselves live with the run, or an event beside the runs. */
type Stretch =
  | {
      readonly runId: string
      readonly events: readonly StoredEvent[]
      readonly first: number
      readonly count: number
      readonly beside?: undefined
    }
  | { readonly runId: string; readonly beside: SideEvent }

/** The order in which events of a conversation were appended. */
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

  /** Once for each mark. */
  addBeside(runId: string, beside: SideEvent): void {
    if (!this.#stretches.some(stretch => stretch.beside?.mark === beside.mark)) this.#stretches.push({ runId, beside })
  }

  /** Forgets a run and what stands beside it; true when none is left. */
  drop(runId: string): boolean {
    this.#runs.delete(runId)
    this.#stretches = this.#stretches.filter(stretch => stretch.runId !== runId)
    return this.#runs.size === 0
  }

  page(after: ConversationCursor | undefined, limit: number): readonly ConversationEvent[] | 'unknown' {
    const start = after ? this.#stretches.findLastIndex(stretch => holds(stretch, after)) : 0
    if (start < 0) return 'unknown'
    const page: ConversationEvent[] = []
    for (let at = start; at < this.#stretches.length && page.length < limit; at += 1) {
      const stretch = this.#stretches[at] as Stretch
      const seen = at === start ? after : undefined
      const room = limit - page.length
      for (const event of stretch.beside ? besideIn(stretch, seen) : eventsIn(stretch, seen, room)) page.push(event)
    }
    return page
  }
}

type OfRun = Extract<Stretch, { beside?: undefined }>

function* eventsIn({ runId, events, first, count }: OfRun, after: ConversationCursor | undefined, room: number) {
  const from = after && 'seq' in after ? after.seq + 1 : first
  for (const { seq, type, data } of events.slice(from, Math.min(first + count, from + room)))
    yield { at: { runId, seq }, type, data }
}

const besideIn = ({ runId, beside: { mark, type, data } }: Exclude<Stretch, OfRun>, after?: ConversationCursor) =>
  after ? [] : [{ at: { runId, mark }, type, data }]

const holds = (stretch: Stretch, after: ConversationCursor) =>
  stretch.runId === after.runId &&
  (stretch.beside ? 'mark' in after && stretch.beside.mark === after.mark : 'seq' in after && spans(stretch, after))

const spans = ({ first, count }: OfRun, { seq }: EventCursor) => seq >= first && seq < first + count
