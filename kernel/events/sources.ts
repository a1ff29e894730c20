import { type ConversationCursor, eventIdOf } from '#contracts/event/envelope'
import type { RunStore } from '#contracts/store/run-store'
import type { EventHub } from './hub.js'
import { frames, PAGE_BYTES, type Page, toPage } from './run-log.js'

/** Events fetched from a store at once. */
const FETCH = 500

/**
 * What a stream may find when it looks for more: a page, nothing yet, the end, or that the run has left this process
 * unfinished: then a reader is to come back.
 */
export type Next = Page | 'nothing' | 'end' | 'gone'

/** A place in a log that moves forward. Answers at once when the next page is at hand. */
export interface EventSource {
  next(): Next | Promise<Next>
  /** Calls `wake` when there may be more, until undone. */
  onWake(wake: () => void): () => void
}

/** One run's events after `after`: from memory while the run's tail is there, else from the store. */
export class RunSource implements EventSource {
  constructor(
    private readonly hub: EventHub,
    private readonly store: RunStore,
    private readonly tenantId: string,
    private readonly runId: string,
    private after: number,
  ) {}

  next(): Next | Promise<Next> {
    const log = this.hub.find(this.tenantId, this.runId)
    if (!log) return this.#fetch()
    if (log.lastSeq <= this.after) return log.isEnded ? 'end' : 'nothing'
    const page = log.page(this.after)
    if (!page) return this.#fetch()
    this.after = page.last
    return page
  }

  onWake(wake: () => void): () => void {
    return this.hub.find(this.tenantId, this.runId)?.onAppend(wake) ?? (() => undefined)
  }

  /** Also the answer for a run nobody holds: without a tail there is nothing to wait for. */
  async #fetch(): Promise<Next> {
    const events = await this.store.events(this.tenantId, this.runId, this.after, FETCH, PAGE_BYTES)
    const page = toPage(this.runId, events)
    if (!page) return this.hub.find(this.tenantId, this.runId) ? 'nothing' : 'gone'
    this.after = page.last
    return page
  }
}

/** The events of a conversation, of its runs and beside them, in append order. It never ends. */
export class ConversationSource implements EventSource {
  constructor(
    private readonly hub: EventHub,
    private readonly store: RunStore,
    private readonly tenantId: string,
    private readonly conversationId: string,
    private cursor: ConversationCursor | undefined,
  ) {}

  async next(): Promise<Next> {
    const { store, tenantId, conversationId, cursor } = this
    const events = await store.conversationEvents(tenantId, conversationId, cursor, FETCH, PAGE_BYTES)
    const framed = events !== 'unknown' && frames(events, ({ at }) => eventIdOf(at))
    if (!framed) return 'nothing'
    this.cursor = framed.last.at
    // Pages of a conversation are counted by nobody.
    return { text: framed.text, last: -1, isEnd: false }
  }

  onWake(wake: () => void): () => void {
    return this.hub.onConversation(this.tenantId, this.conversationId, wake)
  }
}
