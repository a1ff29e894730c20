import type { StoredEvent } from '#contracts/event/envelope'
import { isTerminalEvent } from '#contracts/event/payloads'
import { frameOf } from './serialise.js'

/** A stretch of a log, ready for the wire. `last` is the number of its last event. */
export interface Page {
  readonly text: Buffer
  readonly last: number
  readonly isEnd: boolean
}

/** At most this much goes to one reader at once: what the daemon holds for a reader that stopped reading. */
export const PAGE_BYTES = 64 * 1024

/**
 * The recent, committed end of one run's log. Readers that keep up are served from here, all from the same bytes;
 * those behind it page from the store.
 */
export class RunLog {
  /** Who wants to know of appends; see `onAppend`. */
  readonly wakes = new Set<() => void>()
  #tail: StoredEvent[] = []
  #bytes = 0
  #batch: { readonly after: number; readonly page: Page } | undefined
  #isEnded = false

  constructor(
    readonly runId: string,
    readonly tenantId: string,
    /** Number of the last committed event, -1 for none. */
    private committed: number,
  ) {}

  get lastSeq(): number {
    return this.committed
  }
  get bytes(): number {
    return this.#bytes
  }
  /** The terminal event is committed. */
  get isEnded(): boolean {
    return this.#isEnded
  }
  /** Number of the oldest event held here; one past the last when none is. */
  get firstHeld(): number {
    return this.#tail[0]?.seq ?? this.committed + 1
  }

  /** Takes committed events in; the oldest go once more than `capBytes` are held. */
  append(events: readonly StoredEvent[], capBytes: number): void {
    for (const event of events) {
      this.#tail.push(event)
      this.#bytes += event.data.length
      this.committed = event.seq
      if (isTerminalEvent(event.type)) this.#isEnded = true
    }
    this.#batch = undefined
    if (this.#bytes > capBytes) this.#trim(capBytes)
  }

  /** Calls `wake` after every append, until undone. */
  onAppend(wake: () => void): () => void {
    this.wakes.add(wake)
    return () => void this.wakes.delete(wake)
  }

  /** Events after `after` as they are held here; undefined when some of them are not. */
  held(after: number, limit: number): readonly StoredEvent[] | undefined {
    if (after + 1 < this.firstHeld) return undefined
    const from = after + 1 - this.firstHeld
    return this.#tail.slice(from, from + limit)
  }

  /** The next stretch for a reader at `after`; undefined when it is not held here. Made once for all readers at one place. */
  page(after: number): Page | undefined {
    if (this.#batch?.after === after) return this.#batch.page
    if (after + 1 < this.firstHeld) return undefined
    const page = toPage(this.runId, this.#tail, Math.max(0, after + 1 - this.firstHeld))
    if (page) this.#batch = { after, page }
    return page
  }

  #trim(capBytes: number): void {
    let drop = 0
    // Keeps the newest event whatever its size, so that the end of a log is always at hand.
    while (this.#bytes > capBytes / 2 && drop < this.#tail.length - 1)
      this.#bytes -= this.#tail[drop++]?.data.length ?? 0
    this.#tail = this.#tail.slice(drop)
  }
}

/** The events of a run from index `from` on, up to a page. */
export function toPage(runId: string, events: readonly StoredEvent[], from = 0): Page | undefined {
  const framed = frames(events, ({ seq }) => `${runId}:${seq}`, from)
  if (!framed) return undefined
  const { text, last } = framed
  return { text, last: last.seq, isEnd: isTerminalEvent(last.type) }
}

/** Frames of events from index `from` on, up to a page, and the last of them; undefined when there is none. */
export function frames<E extends Pick<StoredEvent, 'type' | 'data'>>(
  events: readonly E[],
  idOf: (event: E) => string,
  from = 0,
): { readonly text: Buffer; readonly last: E } | undefined {
  let text = ''
  let last: E | undefined
  for (let index = from; index < events.length && text.length < PAGE_BYTES; index++) {
    last = events[index] as E
    text += frameOf(idOf(last), last)
  }
  return last && { text: Buffer.from(text), last }
}
