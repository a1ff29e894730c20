import { Failure } from '#contracts/errors'
import type { ModelClient } from '#contracts/model/client'
import type { CredentialSource, ProviderEntry } from '#contracts/model/provider'
import type {
  ListedModel,
  ListedModels,
  ModelView,
  ProviderOverlay,
  Providers,
  ProviderView,
} from '#contracts/model/providers'

export interface StandInProvidersOptions {
  readonly entries?: Readonly<Record<string, ProviderEntry>>
  /** Environment variables that hold keys. */
  readonly variables?: Readonly<Record<string, string>>
  /** What a provider answers when it is asked for its list; default: nobody is there. */
  readonly fetch?: (provider: string, signal: AbortSignal) => Promise<ListedModels>
  /** Who answers for a provider; default: a client that fails. */
  readonly client?: (provider: string) => ModelClient
  readonly defaultModel?: string
}

/** Providers in memory that ask nobody. Keys, learned models and overlays work as in a daemon; routing goes by exact ids. */
export interface StandInProviders extends Providers {
  /** What a request to the provider would be sent with; undefined: it cannot be asked. */
  credentialOf(provider: string): CredentialSource | undefined
  /** Overlays that lie there now. */
  readonly overlays: readonly ProviderOverlay[]
}

const NOBODY: ListedModels = { kind: 'failed', failure: { category: 'other', message: 'there is no provider here' } }

export function createStandInProviders(options: StandInProvidersOptions = {}): StandInProviders {
  const { entries = {}, variables = {}, fetch = async () => NOBODY, client = failingClient, defaultModel } = options
  const overlays: ProviderOverlay[] = []
  const learned = new Map<string, readonly ListedModel[]>()
  const sessions = new Map<string, CredentialSource>()
  const keys = new Map<string, { readonly key: string; readonly baseUrl: string | undefined }>()

  const entryOf = (name: string): ProviderEntry | undefined =>
    overlays.findLast(({ providers = {} }) => Object.hasOwn(providers, name))?.providers?.[name] ??
    (Object.hasOwn(entries, name) ? entries[name] : undefined)
  const names = () =>
    [...new Set([...Object.keys(entries), ...overlays.flatMap(({ providers = {} }) => Object.keys(providers))])].sort()

  function credentialOf(name: string): CredentialSource | undefined {
    const entry = entryOf(name)
    if (entry?.token_source_required) return sessions.get(name)
    const set = keys.get(name)
    if (set !== undefined && set.baseUrl === entry?.base_url) return () => ({ secret: set.key })
    const own = overlays.findLast(({ credentials = {} }) => Object.hasOwn(credentials, name))?.credentials?.[name]
    if (own !== undefined) return own
    const secret = entry?.api_key_env === undefined ? undefined : variables[entry.api_key_env]
    if (secret !== undefined) return () => ({ secret })
    return entry?.api_key_optional ? () => undefined : undefined
  }

  function viewOf(name: string): ProviderView | undefined {
    const entry = entryOf(name)
    if (entry === undefined) return undefined
    const isConfigured = credentialOf(name) !== undefined
    const missing = isConfigured ? {} : { missing: `set ${entry.api_key_env ?? 'a key'}` }
    const health = isConfigured ? 'unverified' : 'unconfigured'
    return { name, entry, baseUrl: entry.base_url, isConfigured, health, ...missing }
  }

  function modelsOf(provider: string): readonly ModelView[] {
    const { models = {}, aliases = {} } = entryOf(provider) ?? {}
    const listed = learned.get(provider) ?? []
    const found = listed.filter(({ id }) => !Object.hasOwn(models, id))
    const known = Object.entries(models).map(([id, entry]) => [id, entry, false] as const)
    return [...known, ...found.map(model => [model.id, entryOfListed(model), true] as const)]
      .map(([id, entry, isLearned]) => ({
        provider,
        id,
        aliases: Object.keys(aliases).filter(alias => aliases[alias] === id),
        isLearned,
        ...priced(
          entry,
          isLearned,
          overlays.findLast(({ prices }) => prices?.[provider]?.[id])?.prices?.[provider]?.[id],
        ),
      }))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  const isExposed = ({ provider, id }: ModelView) =>
    overlays.every(overlay => overlay.isExposed?.(provider, id) !== false)

  return {
    overlays,
    credentialOf,
    modelsOf,
    find: viewOf,
    list: () =>
      names()
        .map(viewOf)
        .filter(view => view !== undefined)
        .filter(({ entry }) => entry.is_hidden !== true),
    models() {
      return this.list().flatMap(({ name }) => modelsOf(name).filter(isExposed))
    },
    resolve(wish) {
      const model = wish.model || defaultModel
      if (model === undefined) throw new Failure('not_configured', 'no model is configured: set SVC_MODEL')
      const has = (name: string) => wish.provider_name === name || modelsOf(name).some(({ id }) => id === model)
      const found = names().filter(name => has(name) && credentialOf(name) !== undefined)
      if (found.length === 0) throw new Failure('not_configured', `no configured provider has the model ${model}`)
      const candidates = found.map(provider => ({ provider, model, client: client(provider) }))
      return { candidates: wish.allow_fallback ? candidates : candidates.slice(0, 1) }
    },
    fetchModels: fetch,
    learn: (provider, models) => void learned.set(provider, models),
    overlay(overlay) {
      overlays.push(overlay)
      return () => void (overlays.includes(overlay) && overlays.splice(overlays.indexOf(overlay), 1))
    },
    setCredential(provider, source) {
      sessions.set(provider, source)
      return () => void (sessions.get(provider) === source && sessions.delete(provider))
    },
    setKey: async (provider, key) => void keys.set(provider, { key, baseUrl: entryOf(provider)?.base_url }),
  }
}

const entryOfListed = ({ displayName, contextWindow, modalities, ...model }: ListedModel): ModelView['entry'] => ({
  ...(displayName !== undefined && { display_name: displayName }),
  ...(contextWindow !== undefined && { context_window: contextWindow }),
  ...(modalities !== undefined && { modalities: [...modalities] }),
  ...(model.inputPerMillionUsd !== undefined && {
    pricing: {
      input_per_1m_tokens_usd: model.inputPerMillionUsd,
      output_per_1m_tokens_usd: model.outputPerMillionUsd ?? 0,
    },
  }),
})

function priced(
  entry: ModelView['entry'],
  isLearned: boolean,
  price: { readonly input: number; readonly output: number } | undefined,
): Pick<ModelView, 'entry' | 'priceSource'> {
  if (price !== undefined) {
    const pricing = { input_per_1m_tokens_usd: price.input, output_per_1m_tokens_usd: price.output }
    return { entry: { ...entry, pricing }, priceSource: 'user' }
  }
  return entry.pricing === undefined ? { entry } : { entry, priceSource: isLearned ? 'provider' : 'catalog' }
}

const failingClient = (provider: string): ModelClient => ({
  provider,
  answer: async () => ({ kind: 'failed', failure: { category: 'other', message: `${provider} is only a stand-in` } }),
})
