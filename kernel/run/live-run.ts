import { setMaxListeners } from 'node:events'
import type { StoredEvent } from '#contracts/event/envelope'
import { EVENT_PAYLOADS, type EventPayload, type EventType } from '#contracts/event/payloads'
import type { HookTable } from '#contracts/hooks'
import type { ModelCandidate, ModelFacts, ModelOutcome } from '#contracts/model/client'
import type { PluginLog } from '#contracts/plugin'
import type { ActiveRun, SideQuestion, Waiting, WaitOutcome } from '#contracts/run/active-run'
import type { Message } from '#contracts/run/message'
import type { RunPolicy } from '#contracts/run/policy'
import type { RunRequest } from '#contracts/run/request'
import type { Recap, RunRecord, RunStatus } from '#contracts/run/run'
import type { Letter, RunHold, RunStore } from '#contracts/store/run-store'
import type { ToolDefinition, WorkspaceRoots } from '#contracts/tool/tool'
import type { EventHub } from '../events/hub.js'
import type { RunLog } from '../events/run-log.js'
import { serialiseEvent } from '../events/serialise.js'
import { Interrupt, type InterruptCause } from './interrupt.js'
import { Ledger } from './ledger.js'
import { isTimeOut, Mailbox } from './mailbox.js'
import type { Recovered } from './recovery.js'
import { RunWriter } from './run-writer.js'
import { moveTo } from './states.js'

export interface LiveRunOptions {
  readonly record: RunRecord
  /** Proves to the store that the run is held here. */
  readonly fence: number
  readonly store: RunStore
  readonly hooks: HookTable
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly hub: EventHub
  readonly log: PluginLog
  readonly workspace: WorkspaceRoots
  /** Number of the next event. */
  readonly nextSeq: number
  /** The first message of a new run. */
  readonly opening?: Message
  /** What a former process left of the run; absent for a new one. */
  readonly recovered?: Recovered
}

/** A run in flight: the state that hooks and tools see, and the only way it reaches the log and the store. */
export class LiveRun implements ActiveRun {
  readonly id: string
  readonly tenantId: string
  readonly conversationId: string
  readonly agentId: string
  readonly startedAtMs: number
  readonly request: RunRequest
  readonly policy: RunPolicy
  readonly hooks: HookTable
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly store: RunStore
  readonly log: PluginLog
  readonly ledger: Ledger
  readonly events: RunLog
  /** A former process had it, begun or not. */
  readonly isClaimed: boolean
  readonly isResumed: boolean
  /** Mutating calls a former process may have started. */
  readonly intended: ReadonlySet<string>
  readonly transcript: Message[]
  /** Where this run's own messages begin in the transcript. */
  ownFrom = 0
  /** The transcript is no longer history plus own messages. */
  isRewritten = false
  workspace: WorkspaceRoots
  #record: RunRecord
  #visible: RunRecord
  #nextSeq: number
  #notes: Map<string, unknown>
  /** Status of the wait a former process was in; the first wait of that kind enters it silently. */
  #resumedWait: RunStatus | undefined
  readonly hold: RunHold
  readonly #writer: RunWriter
  readonly #abort = new AbortController()
  readonly signal = this.#abort.signal
  readonly #slots = new Map<symbol, unknown>()
  readonly #mailbox: Mailbox

  constructor(private readonly options: LiveRunOptions) {
    const { record, recovered, opening } = options
    // Every call of a turn listens; so many are no leak.
    setMaxListeners(0, this.signal)
    this.#record = record
    this.#visible = record
    this.id = record.id
    this.hold = { runId: record.id, fence: options.fence }
    this.tenantId = record.tenant_id
    this.conversationId = record.conversation_id
    this.agentId = record.agent_id
    this.request = record.request
    this.policy = record.policy
    this.hooks = options.hooks
    this.tools = options.tools
    this.store = options.store
    this.log = options.log
    this.startedAtMs = Date.parse(record.created_at)
    this.ledger = new Ledger(record)
    this.isClaimed = recovered !== undefined
    this.#mailbox = new Mailbox(this)
    // One that only ever waited for its turn begins like any other.
    this.isResumed = this.isClaimed && record.status !== 'queued'
    if (recovered) this.ledger.step = recovered.step
    this.intended = recovered?.intended ?? new Set()
    this.isRewritten = recovered?.isRewritten ?? false
    this.transcript = recovered ? [...recovered.own] : opening ? [opening] : []
    this.#notes = new Map(recovered?.notes)
    this.#nextSeq = options.nextSeq
    this.#resumedWait = recovered && record.status.startsWith('waiting') ? record.status : undefined
    this.workspace = options.workspace
    this.events = options.hub.open(this.id, this.tenantId, options.nextSeq - 1)
    this.#writer = new RunWriter({
      store: this.store,
      hold: this.hold,
      record: () => this.snapshot(),
      committed: ({ events, record: written }) => {
        if (written) this.#visible = written
        if (events) this.#show(events)
      },
      lost: error => {
        this.log.error({ run: this.id, error: String(error) }, 'run lost to another holder')
        this.interrupt('lost')
      },
      log: this.log,
    })
  }

  get previousRunId() {
    return this.#record.previous_run_id as string
  }
  get status(): RunStatus {
    return this.#record.status
  }
  get model(): string {
    return this.#record.model
  }
  get provider(): string {
    return this.#record.provider_name ?? ''
  }
  get modelFacts(): ModelFacts | undefined {
    return this.candidate
  }
  get step(): number {
    return this.ledger.step
  }
  get turns(): number {
    return this.ledger.turns
  }
  get usage() {
    return this.ledger.usage
  }
  get usageTotals() {
    return this.ledger.usageTotals
  }
  get costTotals() {
    return this.ledger.costTotals
  }

  /** Nothing is added to the run any more, by nobody: its terminal event is its last. */
  seal(): void {
    this.#isSealed = true
  }
  #isSealed = false

  emit<T extends EventType>(type: T, payload: EventPayload<T>): void {
    if (this.#isSealed) return
    if (!Object.hasOwn(EVENT_PAYLOADS, type)) throw new Error(`there is no event type ${JSON.stringify(type)}`)
    const draft = this.hooks.eventEmitting.isUsed()
      ? this.hooks.eventEmitting.call({ type, payload }, this)
      : { type, payload }
    if (draft === 'dropped') return
    this.#writer.event(serialiseEvent(this, this.#nextSeq++, draft.type, draft.payload, this.#timestamp()))
  }

  #timestamp(): string {
    return new Date(this.store.now()).toISOString()
  }

  /** Shows the events that were stored with the run itself. */
  begin(events: readonly StoredEvent[]): void {
    this.#nextSeq += events.length
    this.#show(events)
  }

  durable(): Promise<void> {
    return this.#writer.durable()
  }

  /** The terminal event is near: what is not committed yet may go with it. */
  linger(): void {
    this.#writer.linger()
  }

  /** A promise while the log is behind. */
  drained(): Promise<void> | undefined {
    return this.#writer.drained()
  }

  addMessages(messages: readonly Message[]): void {
    if (this.#isSealed) return
    for (const message of messages) {
      this.transcript.push(message)
      this.#writer.journal({ kind: 'message', step: this.step, message })
    }
  }

  /** Puts the history in front of what the run itself said. */
  prependHistory(history: readonly Message[]): void {
    this.transcript.unshift(...history)
    this.ownFrom = history.length
  }

  rewriteTranscript(messages: readonly Message[]): void {
    if (!this.isRewritten) this.setNote(HISTORY_COUNT, this.ownFrom)
    this.transcript.splice(0, this.transcript.length, ...messages)
    this.isRewritten = true
    this.#writer.journal({ kind: 'rewrite', step: this.step, messages })
  }

  /** Puts on record that a mutating call is about to start. Await `durable` before it does. */
  intend(callId: string): void {
    this.#writer.journal({ kind: 'intent', step: this.step, call_id: callId })
  }

  note(key: string): unknown {
    return this.#notes.get(key)
  }

  setNote(key: string, value: unknown): void {
    if (this.#isSealed) return
    this.#notes.set(key, value)
    this.#writer.journal({ kind: 'note', key, value })
  }

  slot<T>(key: symbol, create: () => T): T {
    if (!this.#slots.has(key)) this.#slots.set(key, create())
    return this.#slots.get(key) as T
  }

  /** Who answers the turns at the moment. */
  candidate: ModelCandidate | undefined

  /** Set once the provider is resolved. */
  consult: (question: SideQuestion) => Promise<ModelOutcome> = () => {
    throw new Error('a run has no provider before its first step')
  }

  setRecap(recap: Recap): void {
    this.update({ recap })
  }

  /** Changes the record; written with the next unit. */
  update(change: Partial<RunRecord>): void {
    if (this.#isSealed) return
    this.#record = { ...this.#record, ...change }
    this.#writer.touch()
  }

  moveTo(status: RunStatus): void {
    this.update({ status: moveTo(this.#record.status, status) })
  }

  /** Has the counters written with the next unit. */
  saveProgress(): void {
    this.#writer.touch()
  }

  /** The record as it was last committed: what readers may see. */
  get visible(): RunRecord {
    return this.#visible
  }

  /** How many messages the conversation had before this run. */
  get historyCount(): number {
    return (this.note(HISTORY_COUNT) as number | undefined) ?? this.ownFrom
  }

  /** The record as it is now. */
  snapshot(): RunRecord {
    return {
      ...this.#record,
      usage_totals: this.ledger.usageTotals,
      cost_totals: this.ledger.costTotals,
      progress: this.ledger.progress(this.#nextSeq),
      updated_at: this.#timestamp(),
    }
  }

  async wait(waiting: Waiting): Promise<WaitOutcome> {
    this.signal.throwIfAborted()
    const isResumed = this.#resumedWait === waiting.status && this.status === waiting.status
    this.#resumedWait = undefined
    if (!isResumed) {
      if (this.status !== 'running') this.moveTo('running')
      this.moveTo(waiting.status)
      waiting.announce?.()
      await this.durable()
    }
    const letter = await this.#mailbox.answer(waiting)
    const outcome: WaitOutcome = isTimeOut(letter) ? { kind: 'timed_out' } : { kind: 'answered', letter }
    // One unit: no restart sees the letter gone without what followed from it.
    this.#writer.consume(letter.id)
    this.moveTo('running')
    waiting.conclude?.(outcome)
    return outcome
  }

  async takeLetters(kind: string): Promise<readonly Letter[]> {
    const letters = await this.#mailbox.take(kind)
    for (const letter of letters) this.#writer.consume(letter.id)
    return letters
  }

  pokeLetters(): void {
    this.#mailbox.poke()
  }

  /** Has the run stop where its next step would begin. */
  leaveAtStep(why: InterruptCause): void {
    this.#leaving = new Interrupt(why)
  }
  #leaving: Interrupt | undefined

  /** Throws when the run is interrupted, or asked to leave here. */
  checkpoint(): void {
    this.signal.throwIfAborted()
    if (this.#leaving) throw this.#leaving
  }

  interrupt(why: InterruptCause): void {
    this.#abort.abort(new Interrupt(why))
  }

  #show(events: readonly StoredEvent[]): void {
    const { hooks } = this
    if (hooks.eventAppended.isUsed()) {
      const record = this.snapshot()
      for (const event of events) hooks.eventAppended.call(event, record)
    }
    this.options.hub.publish(this.events, this.conversationId, events)
  }
}

/** Note of a rewritten run: how long the stored history was. */
const HISTORY_COUNT = 'kernel.history_count'
