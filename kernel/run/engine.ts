import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { Failure, messageOf } from '#contracts/errors'
import type { HookTable } from '#contracts/hooks'
import type { Identity } from '#contracts/identity'
import type { PluginLog } from '#contracts/plugin'
import { MESSAGE_STORE, RUN_STORE } from '#contracts/ports'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Message } from '#contracts/run/message'
import { isSettled, type RunRecord } from '#contracts/run/run'
import type { Runs, Started, StartOptions } from '#contracts/run/runs'
import type { DaemonSettings } from '#contracts/settings'
import type { CreateOutcome, LetterDraft, PostOutcome, RunQuery, RunStore } from '#contracts/store/run-store'
import type { ToolDefinition } from '#contracts/tool/tool'
import type { EventHub } from '../events/hub.js'
import { type PortLookup, required } from '../host/composed-app.js'
import { withLimit } from '../waits.js'
import { admit, recordOf } from './admission.js'
import { History } from './history.js'
import { runToEnd } from './life.js'
import { LiveRun, type LiveRunOptions } from './live-run.js'
import { openingEvents, openingMessage } from './opening.js'
import { RecentRuns } from './recent-runs.js'
import { recover } from './recovery.js'
import { type Place, RunQueue } from './run-queue.js'

/** What the engine needs of an epoch. */
export interface RunEpoch extends PortLookup {
  readonly hooks: HookTable
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly honoured: ReadonlySet<string>
  lease(): () => void
}

export interface EngineOptions {
  readonly epoch: () => RunEpoch
  readonly hub: EventHub
  readonly settings: () => DaemonSettings
  readonly log: PluginLog
}

/** The epoch of a run, and what hands it back. */
interface LeasedEpoch {
  readonly epoch: RunEpoch
  readonly release: () => void
}

const MAX_QUEUED = 4096
const PAGE = 1000
/** Kind and key of the letter that cancels a run. */
const CANCEL = 'cancel'

/** Runs in flight of this process, and the run port over them and the store. */
export class RunEngine implements Runs {
  readonly #live = new Map<string, LiveRun>()
  readonly #queue: RunQueue
  readonly #recent: RecentRuns
  /** Under its id, that a run has left memory: with its settled record, or with nothing when it is unfinished. */
  readonly #left = new EventEmitter().setMaxListeners(0)
  readonly #history: History
  readonly #owner = `${process.pid}-${randomUUID()}`
  #isStopping = false

  constructor(private readonly options: EngineOptions) {
    this.#history = new History(() => required(options.epoch(), MESSAGE_STORE))
    this.#queue = new RunQueue(() => options.settings().maxConcurrentRuns)
    this.#recent = new RecentRuns(options.hub)
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

  async start(request: unknown, identity: Identity, options: StartOptions = {}): Promise<Started> {
    if (this.#isStopping) throw new Failure('unavailable', 'the daemon is stopping; try again in a moment')
    const leased = leaseOf(this.options.epoch())
    const { epoch, release } = leased
    try {
      const admission = await admit(request, identity, epoch.hooks, epoch.honoured, options.previousRunId)
      const record = recordOf(admission, {
        id: options.runId ?? `run_${randomUUID()}`,
        model: this.options.settings().model,
        nowMs: required(epoch, RUN_STORE).now(),
      })
      return await this.#create(record, openingMessage(admission.request, admission.opening), leased, options)
    } catch (error) {
      release()
      throw error
    }
  }

  async #create(
    record: RunRecord,
    opening: Message,
    leased: LeasedEpoch,
    { idempotency }: StartOptions,
  ): Promise<Started> {
    if (this.#queue.waiting >= MAX_QUEUED)
      throw new Failure('unavailable', `${MAX_QUEUED} runs are waiting already; try again later`)
    const store = required(leased.epoch, RUN_STORE)
    const place = this.#queue.reserve()
    const events = openingEvents(record, place.mustWait)
    const change = { events, journal: [{ kind: 'message', step: 0, message: opening } as const] }
    const claim = idempotency && {
      key: idempotency.key,
      fingerprint: idempotency.fingerprint,
      expiresAt: store.now() + idempotency.ttlMs,
    }
    const outcome = await store
      .create(record, change, { owner: this.#owner, ...(claim && { idempotency: claim }) })
      .catch((error: unknown) => {
        this.#queue.giveBack(place)
        throw error
      })
    if (outcome.kind !== 'created') {
      this.#queue.giveBack(place)
      leased.release()
      return this.#replay(record.tenant_id, outcome)
    }
    const live = this.#adopt(leased, { record, fence: outcome.fence, nextSeq: 0, opening })
    live.begin(events)
    this.#launch(live, place, leased)
    // It was on its way in when the daemon began to stop.
    if (this.#isStopping) this.#interrupt(live)
    return { run: record, isReplay: false }
  }

  async #replay(tenantId: string, outcome: Exclude<CreateOutcome, { kind: 'created' }>): Promise<Started> {
    if (outcome.kind === 'conflict')
      throw new Failure(
        'idempotency_conflict',
        'this Idempotency-Key was used with another body; use a new key for a new request',
      )
    const run = await this.read(tenantId, outcome.runId)
    if (!run) throw new Failure('internal_error', 'the run of this Idempotency-Key is gone')
    return { run, isReplay: true }
  }

  #adopt(
    { epoch }: LeasedEpoch,
    run: Pick<LiveRunOptions, 'record' | 'fence' | 'nextSeq' | 'opening' | 'recovered'>,
  ): LiveRun {
    const { workspace, hiddenPaths } = this.options.settings()
    const live = new LiveRun({
      ...run,
      store: required(epoch, RUN_STORE),
      hooks: epoch.hooks,
      tools: epoch.tools,
      hub: this.options.hub,
      log: this.options.log,
      workspace: { root: workspace, extraDirs: [], hiddenPaths },
    })
    this.#live.set(live.id, live)
    return live
  }

  #launch(live: LiveRun, place: Place, { epoch, release }: LeasedEpoch): void {
    const { settings, log, hub } = this.options
    const work = async (): Promise<void> => {
      const { retryMaxAttempts, retryMaxTotalSec } = settings()
      const retries = { retryMaxAttempts, retryMaxTotalSec }
      let settled: RunRecord | undefined
      try {
        settled = await runToEnd(live, { retries, history: this.#history, honoured: epoch.honoured })
      } catch (error) {
        // The store refused even the end of the run; the next start of the daemon picks it up.
        log.error({ run: live.id, error: messageOf(error) }, 'run left unsettled')
      }
      this.#live.delete(live.id)
      if (settled) this.#recent.keep(settled)
      else hub.forget(live.id)
      this.#left.emit(live.id, settled)
      release()
    }
    this.#queue.enter(place, live.id, work)
  }

  /** Takes over what a former process left unfinished. Call once, when the first epoch stands. */
  async claimUnfinished(): Promise<number> {
    const epoch = this.options.epoch()
    const store = required(epoch, RUN_STORE)
    const claimed = await store.claim(this.#owner)
    for (const { record, fence, journal } of claimed) {
      const nextSeq = await nextSeqOf(store, record)
      const leased = leaseOf(epoch)
      const live = this.#adopt(leased, { record, fence, nextSeq, recovered: recover(journal) })
      this.#launch(live, this.#queue.reserve(), leased)
    }
    return claimed.length
  }

  async read(tenantId: string, runId: string): Promise<RunRecord | undefined> {
    const live = this.#find(tenantId, runId)
    return live ? live.visible : (this.#recent.find(tenantId, runId) ?? this.#store.read(tenantId, runId))
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
    const record = await this.read(tenantId, runId)
    if (!record || isSettled(record.status)) return record
    // It may have left between the two looks: settled, or to another process.
    const settled = this.#find(tenantId, runId)
      ? await this.#leaving(runId, signal)
      : this.#recent.find(tenantId, runId)
    if (!settled) throw new Failure('unavailable', `the daemon is stopping; run ${runId} goes on when it is back`)
    return settled
  }

  /** The settled record of a run that is here, when it leaves; undefined when it leaves unfinished. */
  async #leaving(runId: string, signal?: AbortSignal): Promise<RunRecord | undefined> {
    const [settled] = (await once(this.#left, runId, { signal })) as [RunRecord | undefined]
    return settled
  }

  /**
   * Takes no more runs in, lets those in flight reach the end of what they are doing for `graceMs`, then interrupts
   * them. With a durable store they are left for the next start; else they end as cancelled.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#queue.close()
    const runs = [...this.#live.values()]
    const ended = Promise.all(runs.map(run => this.#leaving(run.id)))
    const waitForEnd = () => withLimit(ended, graceMs, 'the end of runs').catch(() => undefined)
    for (const run of runs) {
      if (run.status === 'running') run.leaveAtStep(this.#stopCause)
      else this.#interrupt(run)
    }
    await waitForEnd()
    for (const run of this.#live.values()) this.#interrupt(run)
    await waitForEnd()
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

const leaseOf = (epoch: RunEpoch): LeasedEpoch => ({ epoch, release: epoch.lease() })

/** The record says how far the log was when it was written; events may have followed. */
async function nextSeqOf(store: RunStore, record: RunRecord): Promise<number> {
  let last = record.progress.next_seq - 1
  for (;;) {
    const page = await store.events(record.tenant_id, record.id, last, PAGE)
    last = page.at(-1)?.seq ?? last
    if (page.length < PAGE) return last + 1
  }
}
