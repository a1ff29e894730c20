import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { resolveAlias } from '#contracts/model/lookup'
import { Pricing, type ProviderCatalog } from '#contracts/model/provider'
import { type Mistake, refuseCatalog } from './mistake.js'
import { readJson } from './read-json.js'

const PriceList = Type.Object(
  {
    pricing_version: Type.Optional(Type.String({ minLength: 1 })),
    providers: Type.Record(
      Type.String(),
      Type.Object(
        {
          aliases: Type.Optional(Type.Record(Type.String(), Type.String())),
          models: Type.Record(Type.String(), Pricing),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
type PriceList = Static<typeof PriceList>

/** Prices as a catalog carries them: those of an alias stand beside those of its model. */
export type Prices = NonNullable<ProviderCatalog['prices']>

/** Reads a price list file. Without a version of its own it has the catalog's. Throws a `Failure` naming file and field. */
export async function readPriceList(file: string, catalogVersion: string): Promise<Prices> {
  const list = await readJson(file)
  const [first] = Value.Errors(PriceList, list)
  if (first) throw refuseCatalog([{ file, field: first.path.slice(1).replaceAll('/', '.'), why: first.message }])
  const { pricing_version: version = catalogVersion, providers } = list as PriceList
  const mistakes: Mistake[] = []
  const models = Object.entries(providers).map(([name, priced]) => {
    const rows = Object.keys(priced.aliases ?? {}).map(alias => {
      const id = resolveAlias(priced, alias)
      if (id === undefined)
        mistakes.push({ file, field: `providers.${name}.aliases.${alias}`, why: 'it leads to no priced model' })
      return [alias, id === undefined ? undefined : priced.models[id]] as const
    })
    return [name, Object.fromEntries([...rows, ...Object.entries(priced.models)])] as const
  })
  if (mistakes.length > 0) throw refuseCatalog(mistakes)
  return { version, models: Object.fromEntries(models) as Prices['models'] }
}
