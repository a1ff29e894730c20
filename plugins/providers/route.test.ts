import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type OwnServer, type Routable, type Route, routeModel } from './route.js'

const MODELS = ['m1', 'm2', 'v/m1', 'v/m3']

interface Facts {
  readonly name: string
  readonly isConfigured: boolean
  readonly isAggregator: boolean
  readonly models: readonly string[]
  readonly aliases: readonly (readonly [string, string])[]
  readonly listed: readonly string[]
}

const facts = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  isConfigured: fc.boolean(),
  isAggregator: fc.boolean(),
  models: fc.subarray(MODELS),
  aliases: fc.uniqueArray(fc.tuple(fc.constantFrom('short', ...MODELS), fc.constantFrom(...MODELS)), {
    selector: ([alias]) => alias,
    maxLength: 2,
  }),
  listed: fc.subarray(MODELS),
})
const deployment = fc.uniqueArray(facts, { selector: ({ name }) => name, maxLength: 6 })

const statedBy = ({ models, aliases }: Facts, model: string): string | undefined => {
  if (models.includes(model)) return model
  const target = aliases.find(([alias]) => alias === model)?.[1]
  return target !== undefined && models.includes(target) ? target : undefined
}

const routable = (one: Facts): Routable => ({
  name: one.name,
  isConfigured: one.isConfigured,
  isAggregator: one.isAggregator,
  stated: model => statedBy(one, model),
  hasListed: model => one.listed.includes(model),
})

/** The table of the reference, row by row, and the specification's sentence on ids with a slash. */
function byTheTable(model: string, given: readonly Facts[], own: OwnServer | undefined): Route | undefined {
  const all = given.toSorted((a, b) => a.name.localeCompare(b.name))
  const answer = (one: Facts, id: string) => ({ provider: one.name, model: id })
  // 1 and 2: the first by name of the configured ones whose catalog entry has it.
  const stating = all.filter(one => statedBy(one, model) !== undefined)
  for (const one of stating) if (one.isConfigured) return answer(one, statedBy(one, model) as string)
  // 3: found by asking providers; an unconfigured one only when no entry has it.
  const listing = all.filter(one => one.listed.includes(model))
  for (const one of listing) if (one.isConfigured) return answer(one, model)
  if (listing[0] && stating.length === 0) return answer(listing[0], model)
  // A slash means the aggregator whenever there is one, with a key or without. Before that, a server that has all.
  const aggregators = all.filter(one => one.isAggregator)
  const hasSlash = model.split('/').length > 1 && aggregators.length > 0
  if (own !== undefined && (!hasSlash || own.takesSlashes)) return { provider: own.provider, model }
  if (hasSlash) {
    const one = aggregators.find(each => each.isConfigured) ?? (aggregators[0] as Facts)
    return answer(one, statedBy(one, model) ?? model)
  }
  // 4: an entry has it, but nobody has a key. 6: nobody.
  return stating[0] && answer(stating[0], statedBy(stating[0], model) as string)
}

test('any deployment routes any model as the table says', () => {
  const own = fc.option(fc.record({ provider: fc.constant('own'), takesSlashes: fc.boolean() }), { nil: undefined })
  fc.assert(
    fc.property(
      deployment,
      fc.constantFrom('short', 'unknown', 'x/unknown', ...MODELS),
      own,
      (given, model, server) => {
        const providers = given.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(routable)
        expect(routeModel(model, providers, server)).toEqual(byTheTable(model, given, server))
      },
    ),
    { numRuns: 5000 },
  )
})
