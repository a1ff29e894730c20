import type { ProviderEntry } from './provider.js'

/** How many times an alias may point at another alias. */
export const MAX_ALIAS_HOPS = 8

type Known = Pick<ProviderEntry, 'models' | 'aliases'>

/**
 * The model id a name stands for at a provider: itself when a model has that id, else what its aliases lead to. Undefined
 * when they lead to nothing, round in a circle, or further than `MAX_ALIAS_HOPS`.
 */
export function resolveAlias(
  { models, aliases = {} }: { readonly models: object; readonly aliases?: Readonly<Record<string, string>> },
  name: string,
): string | undefined {
  let at = name
  for (let hops = 0; hops <= MAX_ALIAS_HOPS; hops++) {
    if (Object.hasOwn(models, at)) return at
    if (!Object.hasOwn(aliases, at)) return undefined
    at = aliases[at] as string
  }
  return undefined
}

/**
 * The models and aliases of a provider with `models_from` followed: its own models win one by one, aliases are taken over
 * only by a provider without any. Undefined when `models_from` names a provider that is not there, or leads in a circle.
 */
export function inheritModels(
  entry: ProviderEntry,
  find: (name: string) => ProviderEntry | undefined,
): Known | undefined {
  const line = [entry]
  for (let at = entry; at.models_from; ) {
    const source = find(at.models_from)
    if (source === undefined || line.includes(source)) return undefined
    line.push(source)
    at = source
  }
  const models = Object.fromEntries(line.toReversed().flatMap(link => Object.entries(link.models)))
  const aliases = line.find(link => Object.keys(link.aliases ?? {}).length > 0)?.aliases
  return { models, ...(aliases && { aliases }) }
}
