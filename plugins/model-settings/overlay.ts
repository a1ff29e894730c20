import { Failure } from '#contracts/errors'
import type { CredentialSource, ProviderCatalog, ProviderEntry } from '#contracts/model/provider'
import type { ProviderOverlay } from '#contracts/model/providers'
import { exposureOf } from './exposure.js'
import { type KeyPlaces, readKeyRef } from './key-ref.js'
import type { AuthKind, ProviderSetting, Reach, Settings } from './setting.js'

/** Providers that are there without anybody having set anything. */
export type Catalog = ReadonlyMap<string, ProviderEntry>

/** Of providers named twice the one of the higher rank, then the first. */
export function catalogOf(catalogs: readonly ProviderCatalog[]): Catalog {
  const found = new Map<string, ProviderEntry>()
  for (const { providers } of catalogs.toSorted((a, b) => (b.rank ?? 0) - (a.rank ?? 0)))
    for (const [name, entry] of Object.entries(providers)) if (!found.has(name)) found.set(name, entry)
  return found
}

/** How a provider of the catalog is reached. */
export const authKindOf = ({ token_source_required: isSession, ...entry }: ProviderEntry): AuthKind =>
  isSession ? 'subscription' : entry.api_key_optional && entry.api_key_env === undefined ? 'none' : 'api_key'

/** What the settings amount to, to be laid over the catalog. `listing`: providers that have listed models when asked. */
export function overlayOf(
  settings: Settings,
  catalog: Catalog,
  places: KeyPlaces,
  listing: ReadonlySet<string>,
): ProviderOverlay {
  const rows = [...settings]
  const providers = rows.flatMap(([name, setting]) => {
    const entry = entryOf(setting, catalog.get(name), listing.has(name))
    return entry === undefined ? [] : [[name, entry] as const]
  })
  const credentials = rows.flatMap(([name, { keyRef }]) =>
    keyRef === undefined || isUnsetVariable(keyRef, places) ? [] : [[name, sourceOf(name, keyRef, places)] as const],
  )
  return {
    providers: Object.fromEntries(providers),
    credentials: Object.fromEntries(credentials),
    prices: Object.fromEntries(
      rows.flatMap(([name, { costs }]) => (costs === undefined ? [] : [[name, costs] as const])),
    ),
    isExposed: exposureOf(settings),
  }
}

/** Undefined: as the catalog has it. */
function entryOf(
  { reach, keyRef }: ProviderSetting,
  known: ProviderEntry | undefined,
  isListing: boolean,
): ProviderEntry | undefined {
  if (reach === undefined) return undefined
  const base_url = reach.baseUrl ?? known?.base_url
  if (base_url === undefined) return undefined
  const {
    base_url: _,
    protocol: __,
    api_key_env: keyEnv,
    base_url_env: urlEnv,
    api_key_optional: ___,
    ...rest
  } = {
    ...known,
  }
  const variable = keyRef?.startsWith('env:') ? keyRef.slice('env:'.length) : undefined
  // The catalog's variables speak of the catalog's address.
  const isThere = reach.baseUrl === undefined
  const shownEnv = variable ?? (isThere ? keyEnv : undefined)
  return {
    models: {},
    lists_models: isListing,
    ...rest,
    base_url,
    protocol: reach.protocol,
    ...(isKeyless(reach) && { api_key_optional: true }),
    ...(shownEnv !== undefined && !isKeyless(reach) && { api_key_env: shownEnv }),
    ...(isThere && urlEnv !== undefined && { base_url_env: urlEnv }),
  }
}

const isKeyless = ({ authKind }: Reach): boolean => authKind === 'none'

/** Variables do not change under a daemon: a provider without its own is not configured, and says so. */
const isUnsetVariable = (ref: string, { secrets }: KeyPlaces): boolean =>
  ref.startsWith('env:') && secrets.get(ref.slice('env:'.length)) === undefined

const sourceOf =
  (name: string, ref: string, places: KeyPlaces): CredentialSource =>
  async () => {
    const secret = await readKeyRef(ref, places)
    if (secret !== undefined) return { secret }
    throw new Failure(
      'not_configured',
      `${name}: there is no key where its settings say; set it again with POST /v1/model-settings/providers`,
    )
  }
