import { Failure } from '#contracts/errors'
import type { ModelFailure } from '#contracts/model/client'
import type { CredentialSource, ModelConnection, ModelTraits } from '#contracts/model/provider'
import { shownUrl } from './address.js'
import type { CarriedState } from './carried.js'
import { ProviderClient } from './client.js'
import type { Provider } from './directory.js'
import type { Health } from './health.js'
import { Reachability } from './reach.js'
import type { Standing } from './standing.js'
import { withoutTools } from './without-tools.js'

const UNAUTHORIZED = 401

interface Opened {
  readonly client: ProviderClient
  readonly provider: Provider
  /** Which of its keys it was made for. */
  readonly keyChange: number
}

/** One client per provider, made when it is first wanted and replaced when its entry, address or key has changed. */
export class Clients {
  readonly #opened = new Map<string, Opened>()
  /** Also those that were replaced and may still be in use. */
  readonly #living = new Set<ProviderClient>()

  constructor(
    private readonly standing: Standing,
    private readonly health: Health,
    private readonly state: Pick<CarriedState, 'keyChanges'>,
    private readonly now: () => number,
  ) {}

  /** For a provider that can be asked. */
  of(provider: Provider): ProviderClient {
    const { name } = provider
    const keyChange = this.#keyChange(name)
    const opened = this.#opened.get(name)
    if (opened?.provider === provider && opened.keyChange === keyChange) return opened.client
    opened?.client.retire()
    this.#forgetIdle()
    const client = this.#make(provider)
    this.#opened.set(name, { client, provider, keyChange })
    this.#living.add(client)
    return client
  }

  /** Lets go of clients that no longer fit. */
  sweep(): void {
    for (const [name, { client, provider, keyChange }] of this.#opened) {
      if (this.standing.directory.find(name) === provider && this.#keyChange(name) === keyChange) continue
      this.#opened.delete(name)
      client.retire()
    }
    this.#forgetIdle()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#living].map(client => client.close()))
    this.#living.clear()
    this.#opened.clear()
  }

  /** Whoever still holds one of these closes it by using it up. */
  #forgetIdle(): void {
    for (const client of this.#living) if (client.isGone) this.#living.delete(client)
  }

  #keyChange(name: string): number {
    return this.state.keyChanges.get(name) ?? 0
  }

  #make(provider: Provider): ProviderClient {
    const { name, entry, address } = provider
    const reach =
      entry.api_key_optional && !entry.is_hidden && address?.isLoopback
        ? new Reachability(name, address.url, this.now)
        : undefined
    return new ProviderClient({
      provider: name,
      open: () => this.#open(provider),
      ...(reach && { check: (signal: AbortSignal) => reach.check(signal) }),
      shape: request =>
        this.standing.models.callsTools(this.#now(provider), request.model) ? request : withoutTools(request),
      explain: failure => this.#explained(provider, failure),
      onOutcome: (failure: ModelFailure | undefined) => this.health.ranWith(provider, failure),
    })
  }

  /** The provider as it stands: models change under a client that stays. */
  #now(provider: Provider): Provider {
    return this.standing.directory.find(provider.name) ?? provider
  }

  /** Of a refused key a server cannot say where it came from. */
  #explained(provider: Provider, failure: ModelFailure): ModelFailure {
    if (failure.category !== 'auth' || failure.status !== UNAUTHORIZED) return failure
    return {
      ...failure,
      message: `${failure.message}; provider ${provider.name}: ${this.standing.whenRefused(provider)}`,
    }
  }

  #open(provider: Provider): ModelConnection {
    const { name, entry, address, wire } = provider
    if (wire === undefined || address === undefined)
      throw this.standing.refusalOf(provider) ?? new Failure('not_configured', `provider ${name} cannot be asked`)
    const { credentials, models } = this.standing
    const credential: CredentialSource = signal => {
      const source = credentials.for(name, address.url)
      if (source) return source(signal)
      if (credentials.isKeyless(provider)) return undefined
      throw new Failure(
        'not_configured',
        `provider ${name} has no key for ${shownUrl(address.url)} any more: give it one`,
      )
    }
    return wire.open({
      provider: name,
      baseUrl: address.url,
      credential,
      headers: entry.headers ?? {},
      modelPrefix: entry.model_prefix ?? '',
      traits: (model): ModelTraits => {
        const now = this.#now(provider)
        const { entry: known } = models.about(now, model)
        return {
          api: known.api ?? '',
          quirks: models.quirksOf(now, model),
          ...(known.max_output_tokens !== undefined && { maxOutputTokens: known.max_output_tokens }),
        }
      },
    })
  }
}
