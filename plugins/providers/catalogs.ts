import type { Pricing, ProviderCatalog, ProviderEntry } from '#contracts/model/provider'

/** A provider as plugins contribute it. */
export interface Contributed {
  readonly entry: ProviderEntry
  readonly version: string
}

export interface ListPrice {
  readonly pricing: Pricing
  readonly version: string
}

/** What all catalogs of the deployment say together. */
export interface Catalogs {
  readonly providers: ReadonlyMap<string, Contributed>
  /** From a price list; wins over the price in a model's entry. */
  priceOf(provider: string, model: string): ListPrice | undefined
}

/** A name in requests for whatever answers by default. */
export const DEFAULT = 'default'

/**
 * Puts catalogs on top of each other. Of equals the first one wins. `onLeftOut` hears of every entry that does not count,
 * and why: hidden by an equal one, or not what an entry has to be.
 */
export function mergeCatalogs(
  given: readonly ProviderCatalog[],
  onLeftOut: (provider: string, why: string) => void,
): Catalogs {
  const catalogs = given.toSorted((a, b) => (b.rank ?? 0) - (a.rank ?? 0))
  const found = new Map<string, Contributed & { readonly rank: number }>()
  for (const { version, providers, rank = 0 } of catalogs)
    for (const [name, entry] of Object.entries(providers)) {
      const winner = found.get(name)
      if (!isUsable(name, entry))
        onLeftOut(name, 'its entry lacks a base_url, a protocol or models, or its name is taken')
      else if (winner === undefined) found.set(name, { entry, version, rank })
      else if (winner.rank === rank) onLeftOut(name, 'another catalog of the same rank names it too')
    }
  return {
    providers: found,
    priceOf(provider, model) {
      for (const { prices } of catalogs) {
        const pricing = own(own(prices?.models, provider), model)
        if (prices && pricing) return { pricing, version: prices.version }
      }
      return undefined
    },
  }
}

/** The least that everything here relies on; plugins are trusted with the rest. */
const isUsable = (name: string, entry: Partial<ProviderEntry> | null): boolean =>
  name !== DEFAULT &&
  typeof entry?.base_url === 'string' &&
  typeof entry.protocol === 'string' &&
  typeof entry.models === 'object' &&
  entry.models !== null

/** A member of a table that came from outside: names such as `constructor` are members only where somebody wrote them. */
export const own = <T>(table: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
