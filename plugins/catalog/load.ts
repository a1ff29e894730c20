import { fileURLToPath } from 'node:url'
import type { ProviderCatalog, ProviderEntry } from '#contracts/model/provider'
import { checkCatalog, type Entries } from './check.js'
import type { CatalogConfig } from './config.js'
import { readCatalog, readShipped } from './draft.js'
import { override } from './override.js'
import { readPriceList } from './price-list.js'

const SHIPPED = fileURLToPath(new URL('./content', import.meta.url))

/** The catalog of a deployment. Throws a `Failure` that names what is wrong, with file and field. */
export async function loadCatalog(config: CatalogConfig): Promise<ProviderCatalog> {
  const { catalog_path, pricing_path } = config
  const draft = await (catalog_path === '' ? readShipped(SHIPPED) : readCatalog(catalog_path))
  const providers = introduce(checkCatalog(override(draft, config.providers)), config)
  const prices = pricing_path === '' ? undefined : await readPriceList(pricing_path, draft.version)
  return { version: draft.version, providers, ...(prices && { prices }) }
}

/** Tells aggregators who is asking, where the deployment wants that. */
function introduce(entries: Entries, { referer, title }: CatalogConfig): Entries {
  const headers = { ...(referer && { 'HTTP-Referer': referer }), ...(title && { 'X-Title': title }) }
  if (Object.keys(headers).length === 0) return entries
  const introduced = (entry: ProviderEntry): ProviderEntry =>
    entry.is_aggregator ? { ...entry, headers: { ...headers, ...entry.headers } } : entry
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, introduced(entry)]))
}
