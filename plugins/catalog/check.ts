import { Kind, type TSchema } from '@sinclair/typebox'
import type { ValueError } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'
import { inheritModels, MAX_ALIAS_HOPS, resolveAlias } from '#contracts/model/lookup'
import { ProviderEntry } from '#contracts/model/provider'
import type { CatalogDraft, ProviderDraft } from './draft.js'
import { type Mistake, refuseCatalog } from './mistake.js'
import { isTable } from './read-json.js'

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** Ask for what answers by default, whatever that is, and for the turns of a file. */
const RESERVED: ReadonlySet<string> = new Set(['default', 'fake'])
const MOST_PER_PROVIDER = 20

export type Entries = Readonly<Record<string, ProviderEntry>>

/** The providers of a catalog, checked. Throws one `Failure` that names every mistake with its file and field. */
export function checkCatalog({ file, providers }: CatalogDraft): Entries {
  if (providers.size === 0) throw refuseCatalog([{ file, field: 'providers', why: 'it names no provider' }])
  const drafts = [...providers].map(([name, draft]) => [name, withModels(draft)] as const)
  const shape = drafts.flatMap(([name, draft]) => shapeMistakes(name, draft))
  if (shape.length > 0) throw refuseCatalog(shape)
  const entries = Object.fromEntries(drafts.map(([name, { entry }]) => [name, entry as ProviderEntry]))
  const sense = drafts.flatMap(([name, draft]) => senseMistakes(entries, name, draft))
  if (sense.length > 0) throw refuseCatalog(sense)
  return entries
}

/** A provider that takes its models from another need not have any to name. */
const withModels = (draft: ProviderDraft): ProviderDraft =>
  isTable(draft.entry) && !('models' in draft.entry) ? { ...draft, entry: { ...draft.entry, models: {} } } : draft

function shapeMistakes(name: string, { entry, file, path, isShipped }: ProviderDraft): readonly Mistake[] {
  if (isShipped) return []
  if (!NAME.test(name) || RESERVED.has(name))
    return [{ file, field: path.replace(/\.$/, ''), why: `"${name.slice(0, 64)}" cannot be a provider's name` }]
  if (Value.Check(ProviderEntry, entry)) return []
  const mistakes = new Map<string, Mistake>()
  for (const error of Value.Errors(ProviderEntry, entry)) {
    const field = path + error.path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
    if (!mistakes.has(field)) mistakes.set(field, { file, field: field.replace(/\.$/, ''), why: reasonOf(error) })
    if (mistakes.size >= MOST_PER_PROVIDER) break
  }
  return [...mistakes.values()]
}

function reasonOf({ message, schema }: ValueError): string {
  const words: readonly TSchema[] = schema.anyOf ?? []
  if (words.length > 0 && words.every(word => word[Kind] === 'Literal'))
    return `it must be one of ${words.map(word => JSON.stringify(word.const)).join(', ')}`
  return message === 'Unexpected property' ? 'there is no such field' : message
}

function senseMistakes(entries: Entries, name: string, { file, path }: ProviderDraft): readonly Mistake[] {
  const entry = entries[name] as ProviderEntry
  const mistakes: Mistake[] = []
  const wrong = (field: string, why: string) => void mistakes.push({ file, field: path + field, why })
  if (!isAddress(entry.base_url))
    wrong('base_url', 'it must be an absolute http or https address without user name and password')
  if (!entry.api_key_env && !entry.api_key_optional && !entry.token_source_required)
    wrong('api_key_env', 'it must name a variable, unless api_key_optional or token_source_required is true')
  const known = inheritModels(entry, of => (Object.hasOwn(entries, of) ? entries[of] : undefined))
  if (known === undefined) wrong('models_from', 'it names a provider that is not there, or leads in a circle')
  else if (Object.keys(known.models).length === 0) wrong('models', 'there must be one at least')
  else
    for (const alias of Object.keys(entry.aliases ?? {}))
      if (resolveAlias(known, alias) === undefined)
        wrong(`aliases.${alias}`, `it leads to no model of the provider within ${MAX_ALIAS_HOPS} steps`)
  return mistakes
}

function isAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:') && !url.username && !url.password
}
