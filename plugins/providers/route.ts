/** A provider as routing sees it. */
export interface Routable {
  readonly name: string
  readonly isConfigured: boolean
  readonly isAggregator: boolean
  /** The id a name stands for in its catalog entry. */
  stated(model: string): string | undefined
  /** Does it list the model itself? */
  hasListed(model: string): boolean
}

/** A configured server of the deployment's own, which is taken to have every model. */
export interface OwnServer {
  readonly provider: string
  /** Also ids with a `/`, which otherwise are the aggregator's. */
  readonly takesSlashes: boolean
}

export interface Route {
  readonly provider: string
  readonly model: string
}

/**
 * Who has a model; undefined: nobody. `providers` in the order of their names.
 *
 * In this order: a configured provider that states it; one that lists it; the own server; for ids with a `/` the
 * aggregator, configured or not; a provider that states it and lacks its key. Of equals the first, configured ones before others.
 */
export function routeModel(model: string, providers: readonly Routable[], own?: OwnServer): Route | undefined {
  const stating = providers.flatMap(provider => {
    const id = provider.stated(model)
    return id === undefined ? [] : [{ provider, model: id }]
  })
  const ready = stating.find(({ provider }) => provider.isConfigured)
  if (ready) return { provider: ready.provider.name, model: ready.model }
  const listing = configuredFirst(providers.filter(provider => provider.hasListed(model)))
  if (listing && (listing.isConfigured || stating.length === 0)) return { provider: listing.name, model }
  const aggregator = model.includes('/') ? configuredFirst(providers.filter(one => one.isAggregator)) : undefined
  if (own && (own.takesSlashes || aggregator === undefined)) return { provider: own.provider, model }
  if (aggregator) return { provider: aggregator.name, model: aggregator.stated(model) ?? model }
  const [first] = stating
  return first && { provider: first.provider.name, model: first.model }
}

const configuredFirst = (providers: readonly Routable[]): Routable | undefined =>
  providers.find(({ isConfigured }) => isConfigured) ?? providers[0]
