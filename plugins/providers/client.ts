import { messageOf } from '#contracts/errors'
import type { ModelClient, ModelFailure, ModelOutcome, ModelRequest, ModelSink } from '#contracts/model/client'
import type { FetchedModels, ModelConnection } from '#contracts/model/provider'

export interface ProviderClientParts {
  readonly provider: string
  readonly open: () => ModelConnection
  /** Tells before a turn whether it is worth asking; undefined: always. */
  readonly check?: (signal: AbortSignal) => Promise<ModelFailure | undefined>
  /** Makes of a request what the model behind it takes. */
  readonly shape: (request: ModelRequest) => ModelRequest
  /** Says what to do about a failure, where the wire cannot know. */
  readonly explain: (failure: ModelFailure) => ModelFailure
  /** Hears how each turn ended. */
  readonly onOutcome: (failure: ModelFailure | undefined) => void
}

/**
 * A provider's client as runs hold it. The connection behind it is opened by the first request. Once retired it is kept only
 * while requests are under way, so that runs that still hold it can finish. Adds nothing to a part of an answer.
 */
export class ProviderClient implements ModelClient {
  readonly provider: string
  readonly #parts: ProviderClientParts
  #connection: ModelConnection | undefined
  #underWay = 0
  #isRetired = false

  constructor(parts: ProviderClientParts) {
    this.provider = parts.provider
    this.#parts = parts
  }

  answer(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome> {
    return this.#use(async () => {
      const { check, shape, explain, onOutcome } = this.#parts
      const unreachable = await check?.(signal)
      const outcome: ModelOutcome =
        unreachable === undefined
          ? await this.#connect().answer(shape(request), sink, signal)
          : { kind: 'failed', failure: unreachable }
      const failure = outcome.kind === 'failed' ? explain(outcome.failure) : undefined
      onOutcome(failure)
      return failure === undefined ? outcome : { kind: 'failed', failure }
    })
  }

  fetchModels(signal: AbortSignal): Promise<FetchedModels> {
    return this.#use(async () => {
      const fetched = await this.#connect().fetchModels(signal)
      return fetched.kind === 'listed' ? fetched : { kind: 'failed', failure: this.#parts.explain(fetched.failure) }
    })
  }

  /** Retired, and nothing is open. */
  get isGone(): boolean {
    return this.#isRetired && this.#underWay === 0
  }

  /** No new run gets it. */
  retire(): void {
    this.#isRetired = true
    if (this.#underWay === 0) void this.close()
  }

  /** Ends the connection; requests under way fail. Never rejects. */
  async close(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    await connection?.close().catch(() => undefined)
  }

  #connect(): ModelConnection {
    this.#connection ??= this.#parts.open()
    return this.#connection
  }

  async #use<T>(work: () => Promise<T>): Promise<T | { readonly kind: 'failed'; readonly failure: ModelFailure }> {
    this.#underWay += 1
    try {
      return await work()
    } catch (error) {
      // A wire answers in values; what it throws while it opens is about how it was set up.
      return { kind: 'failed', failure: { category: 'other', message: messageOf(error) } }
    } finally {
      this.#underWay -= 1
      if (this.#isRetired && this.#underWay === 0) void this.close()
    }
  }
}
