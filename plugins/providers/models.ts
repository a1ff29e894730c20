import { resolveAlias } from '#contracts/model/lookup'
import type { ModelEntry, Pricing } from '#contracts/model/provider'
import type { ListedModel, ModelView } from '#contracts/model/providers'
import type { Rates } from '#contracts/run/cost'
import type { CarriedState } from './carried.js'
import { own } from './catalogs.js'
import { compareText, type Directory, type Provider } from './directory.js'

export interface KnownModel {
  readonly id: string
  readonly entry: Partial<ModelEntry>
  /** Absent: nobody knows its price. */
  readonly rates?: Rates
  readonly priceSource?: NonNullable<ModelView['priceSource']>
  readonly isLearned: boolean
}

/** Version of prices that a provider itself states, and of those a person set. */
const LISTED = 'provider'
const SET = 'user'

/** The models of providers: what catalogs state, filled up by what a provider lists, with the prices people set. */
export class Models {
  constructor(
    private readonly directory: Directory,
    private readonly state: Pick<CarriedState, 'learned'>,
  ) {}

  /** What the provider lists itself, as long as it is the same place. */
  learnedOf({ name, address }: Provider): ReadonlyMap<string, ListedModel> {
    const learned = this.state.learned.get(name)
    return learned !== undefined && learned.address === address?.url ? learned.models : NONE
  }

  /** The id a name stands for in the provider's entry. */
  stated({ entry }: Provider, model: string): string | undefined {
    return resolveAlias(entry, model)
  }

  /** The same, or a model it lists; undefined: unknown. */
  idOf(provider: Provider, model: string): string | undefined {
    return this.stated(provider, model) ?? (this.learnedOf(provider).has(model) ? model : undefined)
  }

  /** All that is known of a model; of one nobody knows, nothing but what people say of its price. */
  about(provider: Provider, id: string): KnownModel {
    const stated = own(provider.entry.models, id)
    const listed = this.learnedOf(provider).get(id)
    const price = this.#priceOf(provider, id, stated, listed)
    const entry = { ...(listed && entryOf(listed)), ...stated }
    const { pricing: _, ...rest } = entry
    return {
      id,
      entry: price === undefined ? rest : { ...rest, pricing: price.pricing },
      isLearned: stated === undefined && listed !== undefined,
      ...(price && { rates: ratesOf(price.pricing, price.version), priceSource: price.source }),
    }
  }

  /** False: it is known that it cannot. */
  callsTools({ entry }: Provider, id: string): boolean {
    return own(entry.models, id)?.tool_calling !== false
  }

  /** By id. */
  list(provider: Provider): readonly KnownModel[] {
    return this.ids(provider).map(id => this.about(provider, id))
  }

  /** In order. */
  ids(provider: Provider): readonly string[] {
    return [...this.#known(provider)].sort(compareText)
  }

  /** The only id with this end; undefined: there is none, or more than one. */
  oneEnding(provider: Provider, end: string): string | undefined {
    let found: string | undefined
    for (const id of this.#known(provider)) {
      if (!id.endsWith(end)) continue
      if (found !== undefined) return undefined
      found = id
    }
    return found
  }

  #known(provider: Provider): ReadonlySet<string> {
    return new Set([...Object.keys(provider.entry.models), ...this.learnedOf(provider).keys()])
  }

  /** Tags for its wire. */
  quirksOf(provider: Provider, model: string): ReadonlySet<string> {
    return new Set([...(provider.entry.quirks ?? []), ...(own(provider.entry.models, model)?.quirks ?? [])])
  }

  #priceOf(
    { name, version }: Provider,
    id: string,
    stated: ModelEntry | undefined,
    listed: ListedModel | undefined,
  ):
    | { readonly pricing: Pricing; readonly version: string; readonly source: 'user' | 'catalog' | 'provider' }
    | undefined {
    const overlay = this.directory.overlays.findLast(({ prices }) => own(own(prices, name), id) !== undefined)
    const set = own(own(overlay?.prices, name), id)
    if (set) return { pricing: priceFrom(set.input, set.output), version: SET, source: 'user' }
    const line = this.directory.parts.catalogs.priceOf(name, id)
    if (line) return { ...line, source: 'catalog' }
    if (stated?.pricing) return { pricing: stated.pricing, version, source: 'catalog' }
    const { inputPerMillionUsd: input, outputPerMillionUsd: output } = listed ?? {}
    if (input === undefined || output === undefined) return undefined
    return { pricing: priceFrom(input, output), version: LISTED, source: 'provider' }
  }
}

const NONE: ReadonlyMap<string, ListedModel> = new Map()

const priceFrom = (input: number, output: number): Pricing => ({
  input_per_1m_tokens_usd: input,
  output_per_1m_tokens_usd: output,
})

const entryOf = ({ displayName, contextWindow, maxOutputTokens, modalities }: ListedModel): Partial<ModelEntry> => ({
  ...(displayName !== undefined && { display_name: displayName }),
  ...(contextWindow !== undefined && { context_window: contextWindow }),
  ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
  ...(modalities !== undefined && { modalities: [...modalities] }),
})

function ratesOf(pricing: Pricing, version: string): Rates {
  const { cache_read_per_1m_tokens_usd: read, cache_write_per_1m_tokens_usd: write } = pricing
  return {
    inputPerMillionUsd: pricing.input_per_1m_tokens_usd,
    outputPerMillionUsd: pricing.output_per_1m_tokens_usd,
    ...(read !== undefined && { cacheReadPerMillionUsd: read }),
    ...(write !== undefined && { cacheWritePerMillionUsd: write }),
    version,
  }
}

/** Names that lead to each model of a provider, sorted; those that lead nowhere are left out. */
export function aliasesOf({ entry }: Provider): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>()
  for (const alias of Object.keys(entry.aliases ?? {}).sort(compareText)) {
    const id = resolveAlias(entry, alias)
    if (id === undefined || id === alias) continue
    const known = names.get(id)
    if (known) known.push(alias)
    else names.set(id, [alias])
  }
  return names
}
