import { randomUUID } from 'node:crypto'
import { Failure, messageOf } from '#contracts/errors'
import type { HookTable } from '#contracts/hooks'
import type { Identity } from '#contracts/identity'
import type { PluginLog, Port } from '#contracts/plugin'
import { MESSAGE_STORE, RUN_STORE } from '#contracts/ports'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Message } from '#contracts/run/message'
import { isSettled, type RunRecord } from '#contracts/run/run'
import type { Runs, Started, StartOptions } from '#contracts/run/runs'
import type { DaemonSettings } from '#contracts/settings'
import type { LetterDraft, PostOutcome, RunChange, RunQuery, RunStore } from '#contracts/store/run-store'
import type { ToolDefinition } from '#contracts/tool/tool'
import type { EventHub } from '../events/hub.js'
import { admit, recordOf } from './admission.js'
import { History } from './history.js'
import { runToEnd } from './life.js'
import { LiveRun } from './live-run.js'
import { openingEvents } from './opening.js'
import { openingMessage, type Recovered, recover } from './recovery.js'
import { type Place, RunQueue } from './run-queue.js'
import { leftUnfinished, Settlements } from './settlements.js'

/** What the engine needs of an epoch. */
export interface RunEpoch {
  readonly hooks: HookTable
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly honoured: ReadonlySet<string>
  port<T>(port: Port<T>): T | undefined
  lease(): () => void
}

export interface EngineOptions {
  readonly epoch: () => RunEpoch
  readonly hub: EventHub
  readonly settings: () => DaemonSettings
  readonly log: PluginLog
}

/** Runs in flight of this process, and the run port over them and the store. */
export class RunEngine implements Runs {
  readonly #live = new Map<string, LiveRun>()
  readonly #queue: RunQueue
  readonly #settlements = new Settlements()
  readonly #history: History
  readonly #owner = `${process.pid}-${randomUUID()}`
  #isStopping = false

  constructor(private readonly options: EngineOptions) {
    this.#history = new History(() => required(options.epoch(), MESSAGE_STORE))
    this.#queue = new RunQueue(() => options.settings().maxConcurrentRuns)
  }

  get isDurable(): boolean {
    return this.#store.isDurable
  }
  get honoured(): ReadonlySet<string> {
    return this.options.epoch().honoured
  }
  /** Runs in flight or queued here. */
  get size(): number {
    return this.#live.size
  }
  /** Conversation histories held in memory; whoever changes stored history forgets it here. */
  get history(): History {
    return this.#history
  }

  async start(request: unknown, identity: Identity, options: StartOptions = {}): Promise<Started> {
    if (this.#isStopping) throw new Failure('unavailable', 'the daemon is stopping; try again in a moment')
    const epoch = this.options.epoch()
    const release = epoch.lease()
    try {
      const admission = await admit(request, identity, epoch.hooks, epoch.honoured, options.previousRunId)
      const store = required(epoch, RUN_STORE)
      const record = recordOf(admission, {
        id: options.runId ?? `run_${randomUUID()}`,
        model: this.options.settings().model,
        nowMs: store.now(),
      })
      const opening = openingMessage(admission.request, admission.opening)
      return await this.#create(record, opening, epoch, release, store, options)
    } catch (error) {
      release()
      throw error
    }
  }

  async #create(
    record: RunRecord,
    opening: Message,
    epoch: RunEpoch,
    release: () => void,
    store: RunStore,
    options: StartOptions,
  ): Promise<Started> {
    if (this.#queue.waiting >= MAX_QUEUED)
      throw new Failure('unavailable', `${MAX_QUEUED} runs are waiting already; try again later`)
    const place = this.#queue.reserve()
    const events = openingEvents(record, place.mustWait)
    const outcome = await this.#persist(
      record,
      { events, journal: [{ kind: 'message', step: 0, message: opening }] },
      store,
      options,
    ).catch((error: unknown) => {
      this.#queue.giveBack(place)
      throw error
    })
    if (outcome.kind !== 'created') {
      this.#queue.giveBack(place)
      release()
      if (outcome.kind === 'conflict')
        throw new Failure(
          'idempotency_conflict',
          'this Idempotency-Key was used with another body; use a new key for a new request',
        )
      const run = await this.read(record.tenant_id, outcome.runId)
      if (!run) throw new Failure('internal_error', 'the run of this Idempotency-Key is gone')
      return { run, isReplay: true }
    }
    const live = this.#adopt(record, outcome.fence, epoch, store, -1, { opening })
    live.begin(events)
    this.#launch(live, place, epoch, release, NO_INTENTS)
    // It was on its way in when the daemon began to stop.
    if (this.#isStopping) this.#interrupt(live)
    return { run: record, isReplay: false }
  }

  #persist(
    record: RunRecord,
    change: Pick<RunChange, 'events' | 'journal'>,
    store: RunStore,
    { idempotency }: StartOptions,
  ) {
    return store.create(record, change, {
      owner: this.#owner,
      ...(idempotency && {
        idempotency: {
          key: idempotency.key,
          fingerprint: idempotency.fingerprint,
          expiresAt: store.now() + idempotency.ttlMs,
        },
      }),
    })
  }

  #adopt(
    record: RunRecord,
    fence: number,
    epoch: RunEpoch,
    store: RunStore,
    lastSeq: number,
    from: { readonly opening: Message } | { readonly recovered: Recovered },
  ): LiveRun {
    const settings = this.options.settings()
    const live = new LiveRun({
      record,
      hold: { runId: record.id, fence },
      store,
      hooks: epoch.hooks,
      tools: epoch.tools,
      hub: this.options.hub,
      log: this.options.log,
      workspace: { root: settings.workspace, extraDirs: [], hiddenPaths: settings.hiddenPaths },
      nextSeq: lastSeq + 1,
      ...from,
    })
    this.#live.set(record.id, live)
    return live
  }

  #launch(live: LiveRun, place: Place, epoch: RunEpoch, release: () => void, intended: ReadonlySet<string>): void {
    const { settings, log } = this.options
    const work = async (): Promise<void> => {
      try {
        const ended = await runToEnd(live, epoch, { settings: settings(), history: this.#history, intended, log })
        if (ended) this.#settlements.settle(ended)
      } catch (error) {
        // The store refused even the end of the run; the next start of the daemon picks it up.
        log.error({ run: live.id, error: messageOf(error) }, 'run left unsettled')
      } finally {
        this.#live.delete(live.id)
        this.#settlements.retire(live, this.options.hub)
        release()
      }
    }
    this.#queue.enter(place, live.id, work)
  }

  /** Takes over what a former process left unfinished. Call once, when the first epoch stands. */
  async claimUnfinished(): Promise<number> {
    const epoch = this.options.epoch()
    const store = required(epoch, RUN_STORE)
    const claimed = await store.claim(this.#owner)
    for (const run of claimed) {
      const lastSeq = await lastSeqOf(store, run.record)
      const recovered = recover(run.journal)
      const live = this.#adopt(run.record, run.fence, epoch, store, lastSeq, { recovered })
      this.#launch(live, this.#queue.reserve(), epoch, epoch.lease(), recovered.intended)
    }
    return claimed.length
  }

  async read(tenantId: string, runId: string): Promise<RunRecord | undefined> {
    const live = this.#find(tenantId, runId)
    return live ? live.visible : (this.#settlements.recent(tenantId, runId) ?? this.#store.read(tenantId, runId))
  }

  async list(tenantId: string, query: RunQuery): Promise<readonly RunRecord[]> {
    return this.#store.list(tenantId, query)
  }

  async cancel(tenantId: string, runId: string): Promise<RunRecord | undefined> {
    await this.send(tenantId, runId, { kind: CANCEL, key: CANCEL })
    const live = this.#find(tenantId, runId)
    if (live) {
      live.interrupt('cancelled')
      this.#queue.hurry(runId)
    }
    return this.read(tenantId, runId)
  }

  active(tenantId: string, runId: string): ActiveRun | undefined {
    return this.#find(tenantId, runId)
  }

  async send(tenantId: string, runId: string, letter: LetterDraft): Promise<PostOutcome> {
    const outcome = await this.#store.post(tenantId, runId, letter)
    if (outcome.kind === 'posted') this.#find(tenantId, runId)?.pokeLetters()
    return outcome
  }

  async settled(tenantId: string, runId: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    const waiting = this.#settlements.wait(runId, signal)
    try {
      const record = await this.read(tenantId, runId)
      if (!record || isSettled(record.status)) return record
      if (this.#find(tenantId, runId)) return await waiting.settled
      // It left between the two looks: settled, or to another process.
      const settled = this.#settlements.recent(tenantId, runId)
      if (!settled) throw leftUnfinished(runId)
      return settled
    } finally {
      waiting.end()
    }
  }

  /**
   * Takes no more runs in, lets those in flight reach the end of what they are doing for `graceMs`, then interrupts
   * them. With a durable store they are left for the next start; else they end as cancelled.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#queue.close()
    const runs = [...this.#live.values()]
    const ended = Promise.all(runs.map(run => this.#settlements.gone(run.id, () => this.#live.has(run.id))))
    for (const run of runs) {
      if (run.status === 'running') run.leaveAtStep(this.#stopCause)
      else this.#interrupt(run)
    }
    await within(graceMs, ended)
    for (const run of this.#live.values()) this.#interrupt(run)
    await within(graceMs, ended)
  }

  get #stopCause(): 'stopping' | 'cancelled' {
    return this.isDurable ? 'stopping' : 'cancelled'
  }

  /** Also a run that waits for its turn has to come to its end. */
  #interrupt(run: LiveRun): void {
    run.interrupt(this.#stopCause)
    this.#queue.hurry(run.id)
  }

  #find(tenantId: string, runId: string): LiveRun | undefined {
    const live = this.#live.get(runId)
    return live?.tenantId === tenantId ? live : undefined
  }

  get #store(): RunStore {
    return required(this.options.epoch(), RUN_STORE)
  }
}

/** Kind and key of the letter that cancels a run. */
export const CANCEL = 'cancel'
const MAX_QUEUED = 4096
const PAGE = 1000
const NO_INTENTS: ReadonlySet<string> = new Set()

function required<T>(epoch: RunEpoch, port: Port<T>): T {
  const service = epoch.port(port)
  if (!service) throw new Error(`the kernel has no ${port.name}`)
  return service
}

/** Waits for the work, but no longer than that. The timer holds the process: nothing else may while it stops. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}

/** The record says how far the log was when it was written; events may have followed. */
async function lastSeqOf(store: RunStore, record: RunRecord): Promise<number> {
  let last = record.progress.next_seq - 1
  for (;;) {
    const page = await store.events(record.tenant_id, record.id, last < 0 ? undefined : last, PAGE)
    last = page.at(-1)?.seq ?? last
    if (page.length < PAGE) return last
  }
}
