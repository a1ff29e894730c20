import type { ModelFailure } from '#contracts/model/client'
import type { ProviderHealth } from '#contracts/model/providers'
import type { CarriedState, Observation } from './carried.js'
import type { Provider } from './directory.js'

const FRESH_MS = 60_000

export interface HealthView {
  readonly health: ProviderHealth
  readonly error?: string
}

/**
 * What is known of whether providers answer. A run's refused key stands until a run is answered or the key or the address
 * changes: that a list could be read proves less.
 */
export class Health {
  readonly #askedAt = new Map<string, number>()

  constructor(
    private readonly state: Pick<CarriedState, 'seen'>,
    private readonly now: () => number,
  ) {}

  of(provider: Provider, isConfigured: boolean): HealthView {
    if (!isConfigured) return { health: 'unconfigured' }
    const seen = this.#seen(provider)
    if (seen === undefined) return { health: 'unverified' }
    return { health: seen.health, ...(seen.error !== undefined && { error: seen.error }) }
  }

  /** A run was answered, or its key was refused; other failures say nothing about the key. */
  ranWith(provider: Provider, failure: ModelFailure | undefined): void {
    if (failure === undefined) this.#note(provider, { health: 'ok', isFromRun: true })
    else if (failure.category === 'auth')
      this.#note(provider, { health: 'failed', error: failure.message, isFromRun: true })
  }

  /** Something was asked that costs nothing. */
  asked(provider: Provider, failure: ModelFailure | undefined): void {
    const seen = this.#seen(provider)
    if (failure !== undefined) this.#note(provider, { health: 'failed', error: failure.message, isFromRun: false })
    else if (!(seen?.isFromRun && seen.health === 'failed')) this.#note(provider, { health: 'ok', isFromRun: false })
  }

  /** Is it time to ask again? What was seen or asked for within a minute is not. */
  isDue(provider: Provider): boolean {
    const asked = this.#askedAt.get(provider.name) ?? Number.NEGATIVE_INFINITY
    return this.now() - Math.max(asked, this.#seen(provider)?.atMs ?? Number.NEGATIVE_INFINITY) > FRESH_MS
  }

  /** Somebody is about to ask. */
  asking({ name }: Provider): void {
    this.#askedAt.set(name, this.now())
  }

  /** Its key or session is another. */
  forget(name: string): void {
    this.state.seen.delete(name)
    this.#askedAt.delete(name)
  }

  #seen({ name, address }: Provider): Observation | undefined {
    const seen = this.state.seen.get(name)
    return seen?.address === address?.url ? seen : undefined
  }

  #note({ name, address }: Provider, seen: Omit<Observation, 'atMs' | 'address'>): void {
    if (address) this.state.seen.set(name, { ...seen, atMs: this.now(), address: address.url })
  }
}
