import { Failure, messageOf } from '#contracts/errors'
import type { ProviderEntry } from '#contracts/model/provider'
import { checkBaseUrl, isSamePlace } from './base-url.js'
import { addressOf, checkKeyRef, onShelf, STORED, shelfId } from './key-ref.js'
import { keyText } from './key-text.js'
import type { ModelSettings } from './model-settings.js'
import { authKindOf } from './overlay.js'
import type { AuthKind, ProviderSetting, Reach } from './setting.js'

export interface ProviderDraft {
  readonly name: string
  readonly base_url: string
  readonly protocol?: string
  readonly auth_kind?: AuthKind
  readonly key_ref?: string
  readonly api_key?: string
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** Mean something else where a provider is named. */
const TAKEN: ReadonlySet<string> = new Set(['default', 'fake'])
const STANDARD_PROTOCOL = 'openai_compat'

/**
 * Adds a provider or changes how it is reached. A key stays with the address it was given for: a changed address begins
 * without one, unless the same request brings it.
 */
export async function saveProvider(desk: ModelSettings, draft: ProviderDraft): Promise<void> {
  const { places, catalog, resolve, protocols } = desk.parts
  const { name } = draft
  const known = catalog.get(name)
  refuseName(name, known)
  const baseUrl = await checkBaseUrl(draft.base_url, resolve)
  if (draft.protocol !== undefined && !protocols.includes(draft.protocol))
    throw refused('protocol', `must be one of ${protocols.join(', ')}`)
  if (known?.token_source_required) return refuseOtherSession(desk, draft, known, baseUrl)
  if (draft.auth_kind === 'subscription')
    throw refused('auth_kind', 'subscription is for providers that take an imported session, not for others')
  const key = await givenKey(desk, draft, baseUrl)
  const wanted = { ...draft, baseUrl, key, known, standing: known && addressOf(known, places.secrets) }
  const changed = await desk.parts.store
    .change(name, before => settled(before ?? {}, wanted))
    .catch(async (error: unknown) => {
      const id = shelfId(key)
      if (id !== undefined) await places.shelf.remove(id)
      throw error
    })
  if (isMoved(changed.before, changed.after)) await desk.parts.store.dropList(name)
  await desk.settle(name, changed)
}

function refuseName(name: string, known: ProviderEntry | undefined): void {
  if (known?.is_hidden || TAKEN.has(name)) throw refused('name', 'this name is taken; choose another')
  if (known === undefined && !NAME.test(name))
    throw refused('name', 'must be up to 64 of a-z, 0-9, dot, dash and underscore, and begin with a letter or digit')
}

/** Of a session nothing can be changed here: it is the vendor's, and goes to the vendor. */
function refuseOtherSession(
  { parts }: ModelSettings,
  draft: ProviderDraft,
  known: ProviderEntry,
  baseUrl: string,
): void {
  if (draft.key_ref !== undefined || draft.api_key !== undefined)
    throw refused('key_ref', `${draft.name} takes an imported session and no key`)
  const isSame =
    isSamePlace(baseUrl, addressOf(known, parts.places.secrets)) &&
    (draft.protocol ?? known.protocol) === known.protocol &&
    (draft.auth_kind ?? 'subscription') === 'subscription'
  if (!isSame)
    throw refused(
      'base_url',
      `${draft.name} is asked with a session, which goes to its vendor only; add a provider of another name`,
    )
}

/** The reference to the key of the request, checked; `kept`: the client sends back what it was shown. */
async function givenKey(
  desk: ModelSettings,
  draft: ProviderDraft,
  baseUrl: string,
): Promise<string | undefined | 'kept'> {
  const { places, catalog, log } = desk.parts
  const { key_ref: ref, api_key: text } = draft
  if (ref !== undefined && text !== undefined) throw refused('api_key', 'give either api_key or key_ref')
  if (draft.auth_kind === 'none' && (ref ?? text) !== undefined)
    throw refused('auth_kind', 'none is for providers without a key; leave the key out, or auth_kind')
  if (ref === STORED) return 'kept'
  if (ref !== undefined) {
    await checkKeyRef(ref, baseUrl, catalog.values(), places)
    return ref
  }
  if (text === undefined) return undefined
  const key = keyText(text)
  if (key === undefined) throw refused('api_key', 'must be one line of 1 to 8192 printable characters')
  try {
    return onShelf(await places.shelf.put(key))
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'a key could not be kept')
    throw new Failure('store_unavailable', 'the key could not be kept; nothing was changed', { cause: error })
  }
}

interface Wanted extends ProviderDraft {
  /** Checked. */
  readonly baseUrl: string
  readonly key: string | undefined | 'kept'
  readonly known: ProviderEntry | undefined
  /** Where the catalog's provider is, with the vendor's variable. */
  readonly standing: string | undefined
}

/** What is set after the change, from what was set before. */
function settled({ reach, keyRef, ...rest }: ProviderSetting, wanted: Wanted): ProviderSetting {
  const { baseUrl, known, standing, key } = wanted
  const isThere = isSamePlace(baseUrl, standing)
  if (!isThere && isSamePlace(baseUrl, known?.base_url))
    throw refused(
      'base_url',
      `the variable ${known?.base_url_env} of the environment says another address; unset it first`,
    )
  const present: AuthKind = reach?.authKind ?? (known === undefined ? 'api_key' : authKindOf(known))
  const isMoved = !isSamePlace(baseUrl, reach?.baseUrl ?? standing)
  // A key says that one is needed; what was without one stays so until then.
  const authKind = wanted.auth_kind ?? (key === undefined ? present : 'api_key')
  const next: Reach = {
    ...(!isThere && { baseUrl }),
    protocol: wanted.protocol ?? reach?.protocol ?? known?.protocol ?? STANDARD_PROTOCOL,
    authKind,
  }
  const mayKeep = !isMoved && authKind !== 'none'
  if (key === 'kept' && !(mayKeep && shelfId(keyRef) !== undefined))
    throw refused('key_ref', '“stored” stands for a key that is kept for this address; send the key again')
  const ref = key === undefined || key === 'kept' ? (mayKeep ? keyRef : undefined) : key
  const isCatalogs =
    known !== undefined && isThere && next.protocol === known.protocol && authKind === authKindOf(known)
  const { exposed, isExposed, costs } = rest
  return {
    ...(exposed !== undefined && { exposed }),
    ...(isExposed !== undefined && { isExposed }),
    ...(costs !== undefined && { costs }),
    ...(!isCatalogs && { reach: next }),
    ...(ref !== undefined && { keyRef: ref }),
  }
}

const isMoved = (before: ProviderSetting | undefined, after: ProviderSetting): boolean =>
  before?.reach?.baseUrl !== after.reach?.baseUrl

const refused = (field: string, why: string): Failure => new Failure('invalid_request', `${field}: ${why}`)
