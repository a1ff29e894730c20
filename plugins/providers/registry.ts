import type { ModelCandidate } from '#contracts/model/client'
import type { CredentialSource } from '#contracts/model/provider'
import type {
  ListedModel,
  ListedModels,
  ModelView,
  ModelWish,
  ProviderOverlay,
  Providers,
  ProviderView,
  Resolution,
} from '#contracts/model/providers'
import type { Undo } from '#contracts/plugin'
import type { CarriedState } from './carried.js'
import type { Clients } from './clients.js'
import type { Provider } from './directory.js'
import type { Health } from './health.js'
import type { KeyRing } from './key-ring.js'
import { readListedModels } from './listed-models.js'
import { aliasesOf, type KnownModel } from './models.js'
import type { Resolver, Target } from './resolve.js'
import type { Standing } from './standing.js'

export interface RegistryParts {
  readonly standing: Standing
  readonly resolver: Resolver
  readonly clients: Clients
  readonly health: Health
  readonly keys: KeyRing
  readonly state: CarriedState
}

/** The port: every provider and model of the deployment, and the way to them. */
export class Registry implements Providers {
  constructor(private readonly parts: RegistryParts) {}

  list(): readonly ProviderView[] {
    return this.parts.standing.shown().map(provider => this.#view(provider))
  }

  find(name: string): ProviderView | undefined {
    const provider = this.parts.standing.directory.find(name)
    return provider && this.#view(provider)
  }

  models(): readonly ModelView[] {
    const { standing } = this.parts
    const overlays = standing.directory.overlays.filter(overlay => overlay.isExposed !== undefined)
    return standing
      .shown()
      .flatMap(provider => this.#modelViews(provider))
      .filter(({ provider, id }) => overlays.every(overlay => overlay.isExposed?.(provider, id) !== false))
  }

  modelsOf(name: string): readonly ModelView[] {
    const provider = this.parts.standing.directory.find(name)
    return provider === undefined ? [] : this.#modelViews(provider)
  }

  resolve(wish: ModelWish): Resolution {
    const { targets, warning } = this.parts.resolver.resolve(wish)
    const [first, ...others] = targets.map(target => this.#candidate(target))
    // Half-way through its work a run has no use for a model that can only talk.
    const able = first?.callsTools === false ? others : others.filter(({ callsTools }) => callsTools !== false)
    return { candidates: first === undefined ? [] : [first, ...able], ...(warning && { warning }) }
  }

  async fetchModels(name: string, signal: AbortSignal): Promise<ListedModels> {
    const { standing, clients, health } = this.parts
    const provider = standing.directory.find(name)
    const refusal = provider === undefined ? standing.unknownProvider('provider', name) : standing.refusalOf(provider)
    if (provider === undefined || refusal !== undefined)
      return { kind: 'failed', failure: { category: 'auth', message: refusal?.message ?? name } }
    const fetched = await clients.of(provider).fetchModels(signal)
    if (fetched.kind === 'failed') {
      if (fetched.failure.category === 'auth') health.asked(provider, fetched.failure)
      return fetched
    }
    health.asked(provider, undefined)
    const models = readListedModels(fetched.body, provider.entry.model_prefix ?? '')
    if (models.length > 0) return { kind: 'listed', models }
    return { kind: 'failed', failure: { category: 'other', message: `${name} lists no models that can be read` } }
  }

  learn(name: string, models: readonly ListedModel[]): void {
    const address = this.parts.standing.directory.find(name)?.address?.url
    if (address === undefined) return
    this.parts.state.learned.set(name, { address, models: new Map(models.map(model => [model.id, model])) })
  }

  overlay(overlay: ProviderOverlay): Undo {
    const undo = this.parts.standing.directory.overlay(overlay)
    this.parts.clients.sweep()
    return async () => {
      await undo()
      this.parts.clients.sweep()
    }
  }

  setCredential(name: string, source: CredentialSource): Undo {
    this.parts.health.forget(name)
    return this.parts.standing.credentials.setSession(name, source)
  }

  async setKey(name: string, key: string): Promise<void> {
    const { standing, keys, clients, health } = this.parts
    const address = standing.directory.find(name)?.address?.url ?? ''
    await keys.set(name, key, address)
    health.forget(name)
    clients.sweep()
  }

  #candidate({ as, provider, model }: Target): ModelCandidate {
    const { rates, entry } = this.parts.standing.models.about(provider, model)
    return {
      provider: as,
      model,
      client: this.parts.clients.of(provider),
      ...(rates && { rates }),
      ...(entry.context_window !== undefined && { contextWindow: entry.context_window }),
      ...(entry.max_output_tokens !== undefined && { maxOutputTokens: entry.max_output_tokens }),
      ...(entry.modalities !== undefined && { modalities: entry.modalities }),
      ...(entry.tool_calling !== undefined && { callsTools: entry.tool_calling }),
    }
  }

  #view(provider: Provider): ProviderView {
    const { standing, health } = this.parts
    const { name, entry, address } = provider
    const missing = standing.missing(provider)
    const isConfigured = missing === undefined
    const seen = health.of(provider, isConfigured)
    return {
      name,
      entry,
      baseUrl: address?.url ?? entry.base_url,
      isConfigured,
      ...(missing !== undefined && { missing }),
      health: seen.health,
      ...(seen.error !== undefined && { healthError: seen.error }),
    }
  }

  #modelViews(provider: Provider): readonly ModelView[] {
    const aliases = aliasesOf(provider)
    return this.parts.standing.models.list(provider).map((model: KnownModel) => ({
      provider: provider.name,
      id: model.id,
      aliases: aliases.get(model.id) ?? [],
      entry: model.entry,
      ...(model.priceSource && { priceSource: model.priceSource }),
      isLearned: model.isLearned,
    }))
  }
}
