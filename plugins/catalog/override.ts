import type { CatalogDraft, ProviderDraft } from './draft.js'
import { isTable, type Table } from './read-json.js'

const SECTION = 'plugins.catalog.providers'

/**
 * Lays a deployment's own providers over a catalog, field by field and model by model. `null` takes a field, a model or a
 * provider away, and so does `enabled = false` a model or a provider.
 */
export function override(catalog: CatalogDraft, given: Table): CatalogDraft {
  const providers = new Map(catalog.providers)
  for (const [name, change] of Object.entries(given)) {
    const below = providers.get(name)
    if (isTakenOut(change)) providers.delete(name)
    else providers.set(name, changed(below, change, name))
  }
  return { ...catalog, providers }
}

function changed(below: ProviderDraft | undefined, change: unknown, name: string): ProviderDraft {
  const own = { file: `[${SECTION}.${name}]`, path: '' }
  if (!isTable(change)) return { entry: change, ...own }
  const base = isTable(below?.entry) ? below.entry : {}
  const entry = merge(base, change)
  const models = isTable(entry.models) ? entry.models : {}
  const kept = Object.entries(models).filter(([, model]) => !isTakenOut(model))
  const merged = { ...entry, models: Object.fromEntries(kept.map(([id, model]) => [id, withoutSwitch(model)])) }
  return {
    entry: withoutSwitch(merged),
    ...(below === undefined ? own : { file: `${below.file} with ${own.file}`, path: below.path }),
  }
}

const isTakenOut = (value: unknown): boolean => value === null || (isTable(value) && value.enabled === false)

/** `enabled` is a word to this plugin and no field of an entry. */
function withoutSwitch(value: unknown): unknown {
  if (!isTable(value) || value.enabled !== true) return value
  const { enabled: _, ...rest } = value
  return rest
}

function merge(below: Table, above: Table): Table {
  const merged = new Map(Object.entries(below))
  for (const [key, value] of Object.entries(above)) {
    const under = merged.get(key)
    if (value === null && key !== 'models') merged.delete(key)
    else merged.set(key, isTable(value) && isTable(under) ? merge(under, value) : value)
  }
  return Object.fromEntries(merged)
}
