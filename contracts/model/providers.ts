import type { Undo } from '../plugin.js'
import type { ModelCandidate, ModelFailure } from './client.js'
import type { CredentialSource, ModelEntry, ProviderEntry } from './provider.js'

/** May a provider be asked, and did it answer when it was? */
export type ProviderHealth = 'unconfigured' | 'ok' | 'failed' | 'unverified'

/** A provider as it stands now: catalog, overlays and what it lists itself, merged. */
export interface ProviderView {
  readonly name: string
  readonly entry: ProviderEntry
  /** After overrides by variable or setting. */
  readonly baseUrl: string
  /** A key, a session, or none needed: it can be asked. */
  readonly isConfigured: boolean
  /** What to set, naming the variable, when it is not configured. */
  readonly missing?: string
  readonly health: ProviderHealth
  readonly healthError?: string
}

/** A model as it stands now. */
export interface ModelView {
  readonly provider: string
  readonly id: string
  /** Every name that leads to it, sorted. */
  readonly aliases: readonly string[]
  /** `pricing` is the price in force, whoever set it. */
  readonly entry: Partial<ModelEntry>
  /** Where its price comes from; absent: it has none. */
  readonly priceSource?: 'provider' | 'catalog' | 'user'
  /** Found in the provider's own list, not in a catalog. */
  readonly isLearned: boolean
}

/** A model of a provider's own list, read into our words. */
export interface ListedModel {
  readonly id: string
  readonly displayName?: string
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
  readonly inputPerMillionUsd?: number
  readonly outputPerMillionUsd?: number
  readonly modalities?: readonly string[]
}

/** A provider's own list, read. Entries that cannot be read are left out; an empty list is a failure. */
export type ListedModels =
  | { readonly kind: 'listed'; readonly models: readonly ListedModel[] }
  | { readonly kind: 'failed'; readonly failure: ModelFailure }

/** Which model is wanted, in the words of a run request. */
export interface ModelWish {
  /** Id or alias; empty: the deployment's default. */
  readonly model?: string
  /** Asks this provider and applies no other routing rule; `default` is what answers runs that wish nothing. */
  readonly provider_name?: string
  readonly allow_fallback?: boolean
  readonly fallback_providers?: readonly string[]
}

export interface Resolution {
  /** Best first; never empty. More than one only where the wish allows fallback. */
  readonly candidates: readonly ModelCandidate[]
  /** Why the first candidate is not what was asked for; for `prompt.warning`. */
  readonly warning?: {
    readonly code: 'provider_fallback'
    readonly message: string
    /** Why the wish could not be met, as the refusal would have said it. */
    readonly reason: string
    /** Absent: no provider is known to have the model. */
    readonly from?: string
    readonly to: string
  }
}

/** What somebody lays over the catalog at run time. Later overlays win. */
export interface ProviderOverlay {
  /** Providers added or replaced, by name. */
  readonly providers?: Readonly<Record<string, ProviderEntry>>
  /**
   * Credentials of providers. They belong to the base URL of `providers` in this overlay, or else to the one the catalog
   * and its variable give, and are never sent elsewhere.
   */
  readonly credentials?: Readonly<Record<string, CredentialSource>>
  /** Prices by provider and model; they win over the catalog. */
  readonly prices?: Readonly<
    Record<string, Readonly<Record<string, { readonly input: number; readonly output: number }>>>
  >
  /**
   * Whether lists show a model; asked whenever a list is read, also of models learned since. Must be quick. A model is shown
   * when no overlay says no. Routing is not affected.
   */
  isExposed?(provider: string, model: string): boolean
}

/** Every provider and model of the deployment, and the way to them. Provided by `plugins/providers`. */
export interface Providers {
  /** By name; hidden ones are left out. */
  list(): readonly ProviderView[]
  find(name: string): ProviderView | undefined
  /** By provider, then id; what lists show. */
  models(): readonly ModelView[]
  /** All known models of one provider, shown in lists or not. */
  modelsOf(provider: string): readonly ModelView[]
  /** Throws a `Failure` (`not_configured` or `invalid_request`) that says which provider and variable it is about. */
  resolve(wish: ModelWish): Resolution
  /** Asks the provider for its list. Never rejects. */
  fetchModels(provider: string, signal: AbortSignal): Promise<ListedModels>
  /** Adds what a provider lists. What a catalog states wins; the newest list replaces the one before. */
  learn(provider: string, models: readonly ListedModel[]): void
  /** Lays data over the catalog until undone. */
  overlay(overlay: ProviderOverlay): Undo
  /** Sessions of a provider with `token_source_required`, for the base URL of catalog and variable, until undone. */
  setCredential(provider: string, source: CredentialSource): Undo
  /**
   * A key for the provider at its present base URL, and for no other; it wins over the variable. Any name is accepted.
   * Resolves when it is in force and, where the deployment keeps keys, stored. Throws `invalid_request` for an unusable key.
   */
  setKey(provider: string, key: string): Promise<void>
}
