import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '#contracts/errors'
import { eventIdOf, parseConversationEventId, parseEventId, type StoredEvent } from '#contracts/event/envelope'
import type { Events, ToldEvent } from '#contracts/event/events'
import { isTerminalEvent } from '#contracts/event/payloads'
import type { HookTable } from '#contracts/hooks'
import type { Identity } from '#contracts/identity'
import { isSettled } from '#contracts/run/run'
import type { Runs } from '#contracts/run/runs'
import type { MessageStore } from '#contracts/store/message-store'
import type { RunStore } from '#contracts/store/run-store'
import { unlessAborted } from '../waits.js'
import type { EventHub } from './hub.js'
import { envelopeText } from './serialise.js'
import { ConversationSource, type EventSource, RunSource } from './sources.js'
import { SseStream } from './sse-stream.js'

/** How often the right of every open stream is checked again. */
const RECHECK_MS = 2_000
const FOLLOW_PAGE = 500
/** What a reader inside the daemon gets at once at most. */
const READ_CHARACTERS = 1024 * 1024
const STALLED_MS = 20_000
const TOLD_TYPE = /^(?!run\.)[a-z_]+(\.[a-z_]+)+$/

export interface EventStreamsOptions {
  readonly hub: EventHub
  readonly runs: Pick<Runs, 'read'>
  readonly store: () => RunStore
  readonly messages: () => MessageStore
  readonly hooks: () => HookTable
  readonly keepaliveSeconds: () => number
  /** How long a reader may take nothing before it is cut; default 20 s. */
  readonly stalledMs?: number | undefined
  readonly isStillValid: (identity: Identity) => Promise<boolean>
  /** Hands back the lease a request holds on its epoch. */
  readonly releaseLease: (response: ServerResponse) => void
}

/** Readers of the log, and every open stream of this process. */
export class EventStreams implements Events {
  readonly #open = new Set<SseStream>()
  #recheck: NodeJS.Timeout | undefined
  #isRechecking = false
  #isClosing = false

  constructor(private readonly options: EventStreamsOptions) {}

  async read(
    tenantId: string,
    runId: string,
    after: number | undefined,
    limit: number,
  ): Promise<readonly StoredEvent[] | undefined> {
    if (!(await this.options.runs.read(tenantId, runId))) return undefined
    return this.#read(tenantId, runId, after ?? -1, limit)
  }

  /** Committed events, from memory while they are held there. */
  async #read(tenantId: string, runId: string, after: number, limit: number): Promise<readonly StoredEvent[]> {
    const held = this.options.hub.find(tenantId, runId)?.held(after, limit)
    return held ?? this.options.store().events(tenantId, runId, after, limit, READ_CHARACTERS)
  }

  async follow(
    tenantId: string,
    runId: string,
    after: number | undefined,
    signal: AbortSignal,
  ): Promise<AsyncIterable<readonly StoredEvent[]> | undefined> {
    if (!(await this.options.runs.read(tenantId, runId))) return undefined
    return this.#pages(tenantId, runId, after ?? -1, signal)
  }

  async *#pages(
    tenantId: string,
    runId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredEvent[]> {
    for (let at = after; ; ) {
      signal.throwIfAborted()
      const log = this.options.hub.find(tenantId, runId)
      let undo = (): void => undefined
      // Before the read: what is appended while it is under way may be missing from it.
      const appended = new Promise<void>(resolve => {
        if (log) undo = log.onAppend(resolve)
      })
      let events: readonly StoredEvent[]
      try {
        events = await this.#read(tenantId, runId, at, FOLLOW_PAGE)
        if (events.length === 0) {
          if (!log || log.isEnded) return
          await unlessAborted(appended, signal)
        }
      } finally {
        undo()
      }
      const last = events.at(-1)
      if (!last) continue
      at = last.seq
      yield events
      if (isTerminalEvent(last.type)) return
    }
  }

  async tell(tenantId: string, runId: string, told: ToldEvent): Promise<boolean> {
    if (!TOLD_TYPE.test(told.type)) throw new Error(`${told.type} is no type of an event beside the runs`)
    const run = await this.options.runs.read(tenantId, runId)
    if (!run) return false
    const draft = this.options.hooks().conversationEmitting.call(told, run)
    if (draft === 'dropped') return true
    const { type, payload, mark = randomUUID() } = draft
    const store = this.options.store()
    const origin = { id: runId, conversationId: run.conversation_id, step: run.progress.step }
    const at = new Date(store.now()).toISOString()
    const data = envelopeText(eventIdOf({ runId, mark }), origin, type, payload, at)
    const isStored = await store.addBeside(tenantId, runId, { mark, type, data })
    if (isStored) this.options.hub.wakeConversation(tenantId, run.conversation_id)
    return isStored
  }

  async streamRun(request: FastifyRequest, reply: FastifyReply, runId: string): Promise<void> {
    const { tenantId } = request.identity
    const run = await this.options.runs.read(tenantId, runId)
    if (!run) throw new Failure('not_found', `no run ${runId}`)
    const cursor = parseEventId(lastEventId(request))
    const after = cursor?.runId === runId ? cursor.seq : -1
    if (isSettled(run.status) && after >= run.progress.next_seq - 1) {
      // Nothing is left and nothing will come: 204 is what tells an EventSource not to ask again.
      reply.code(204).send()
      return
    }
    this.#attach(request, reply, new RunSource(this.options.hub, this.options.store(), tenantId, runId, after))
  }

  async streamConversation(request: FastifyRequest, reply: FastifyReply, conversationId: string): Promise<void> {
    const { tenantId } = request.identity
    const store = this.options.store()
    const [newest] = await store.list(tenantId, { conversationId, limit: 1 })
    if (!newest && !(await this.options.messages().load(tenantId, conversationId)))
      throw new Failure('not_found', `no conversation ${conversationId}`)
    const cursor = parseConversationEventId(lastEventId(request))
    const isKnown = cursor && (await store.conversationEvents(tenantId, conversationId, cursor, 1)) !== 'unknown'
    const source = new ConversationSource(
      this.options.hub,
      store,
      tenantId,
      conversationId,
      isKnown ? cursor : undefined,
    )
    this.#attach(request, reply, source, cursor && !isKnown ? { 'x-conversation-resync': 'required' } : undefined)
  }

  /** Open streams. */
  get size(): number {
    return this.#open.size
  }

  /** Ends every stream, each with the hint to come back. */
  closeAll(): void {
    this.#isClosing = true
    for (const stream of [...this.#open]) stream.farewell()
  }

  #attach(
    request: FastifyRequest,
    reply: FastifyReply,
    source: EventSource,
    headers?: Readonly<Record<string, string>>,
  ): void {
    reply.hijack()
    const stream = new SseStream(
      reply.raw,
      source,
      {
        keepaliveMs: this.options.keepaliveSeconds() * 1000,
        stalledMs: this.options.stalledMs ?? STALLED_MS,
        identity: request.identity,
        headers: { ...(reply.getHeaders() as Record<string, string>), ...headers },
      },
      closed => this.#closed(closed),
    )
    if (stream.isClosed) return
    this.#open.add(stream)
    this.#recheck ??= setInterval(() => void this.#recheckAll(), RECHECK_MS).unref()
    this.options.releaseLease(reply.raw)
    if (this.#isClosing) stream.farewell()
  }

  #closed(stream: SseStream): void {
    this.#open.delete(stream)
    if (this.#open.size > 0) return
    clearInterval(this.#recheck)
    this.#recheck = undefined
  }

  async #recheckAll(): Promise<void> {
    if (this.#isRechecking) return
    this.#isRechecking = true
    for (const stream of [...this.#open]) {
      const { identity } = stream.options
      if (identity.keyPrefix === undefined) continue
      const isValid = await this.options.isStillValid(identity).catch(() => true)
      if (!isValid) stream.cut()
    }
    this.#isRechecking = false
  }
}

function lastEventId(request: FastifyRequest): string | undefined {
  const header = request.headers['last-event-id']
  return typeof header === 'string' ? header : undefined
}
