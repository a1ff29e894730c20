import { basename } from 'node:path'
import { Failure } from '#contracts/errors'
import type { ProviderEntry } from '#contracts/model/provider'
import type { Secrets } from '#contracts/settings'
import { originOf } from './base-url.js'
import type { KeyFiles } from './key-file.js'
import type { KeyShelf } from './key-shelf.js'
import { keyText } from './key-text.js'
import { type Keychain, parseItem, readKeychain } from './keychain.js'

export interface KeyPlaces {
  readonly secrets: Secrets
  readonly files: KeyFiles
  readonly shelf: KeyShelf
  readonly keychain: Keychain
  /** Variables `env:` may name; empty: by their ending. */
  readonly variables: readonly string[]
}

/** How a key on the shelf is shown, and how a client that sends back what it was shown says "the same". */
export const STORED = 'stored'
const ON_SHELF = 'stored:'
const KEY_VARIABLE = /^[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)$/
/** Open the platform, the code host or the daemon instead of a model. */
const CLOSED_VARIABLE = /^(?:SVC|RUNWRIGHT|AWS|AZURE|GCP|GOOGLE_CLOUD|GITHUB|GH|GITLAB|NPM|DOCKER|KUBE|VAULT|SSH)_/

export const onShelf = (id: string): string => ON_SHELF + id
export const shelfId = (ref: string | undefined): string | undefined =>
  ref?.startsWith(ON_SHELF) ? ref.slice(ON_SHELF.length) : undefined

/** A reference as answers show it: no path, no id. */
export function shownRef(ref: string): string {
  if (shelfId(ref) !== undefined) return STORED
  return ref.startsWith('file:') ? `file:${basename(ref.slice('file:'.length))}` : ref
}

/**
 * Checks that a reference may be named for a provider at this address, and that there is a key behind it. Fails with
 * `invalid_request`. Without this, whoever may add a provider could have any secret of the daemon sent to an address of their own.
 */
export async function checkKeyRef(
  ref: string,
  baseUrl: string,
  catalog: Iterable<Pick<ProviderEntry, 'api_key_env' | 'base_url' | 'base_url_env'>>,
  places: KeyPlaces,
): Promise<void> {
  const [, kind = '', rest = ''] = /^([a-z]+):(.*)$/s.exec(ref) ?? []
  if (kind === 'env') return checkVariable(rest, baseUrl, [...catalog], places)
  if (kind === 'file') {
    const read = await places.files.read(rest)
    if (read.kind === 'wrong') throw refused(`the file ${read.why}`)
    return
  }
  if (kind !== 'keychain') throw refused('must be env:<NAME>, file:<path> or keychain:<service>/<account>')
  if (places.keychain.platform !== 'darwin')
    throw refused('there is a keychain on macOS only; use env:<NAME> or file:<path> here')
  if (parseItem(rest) === undefined)
    throw refused('keychain:<service>/<account> needs a service that begins with runwright')
  if ((await readKeychain(rest, places.keychain)) === undefined) throw refused('the keychain has no such item')
}

function checkVariable(
  name: string,
  baseUrl: string,
  catalog: readonly Pick<ProviderEntry, 'api_key_env' | 'base_url' | 'base_url_env'>[],
  { secrets, variables }: KeyPlaces,
): void {
  const owners = catalog.filter(entry => entry.api_key_env === name)
  if (owners.length > 0) {
    const origins = owners.map(entry => originOf(addressOf(entry, secrets)))
    if (!origins.includes(originOf(baseUrl)))
      throw refused(
        `${name} belongs to ${origins.join(', ')} and is not sent elsewhere; put this key into another variable`,
      )
  } else if (variables.length > 0) {
    if (!variables.includes(name) || name.startsWith('SVC_'))
      throw refused(`env: may name ${variables.join(', ')} here`)
  } else if (!KEY_VARIABLE.test(name) || CLOSED_VARIABLE.test(name))
    throw refused('env: may name a variable that ends in _KEY or _TOKEN and is no other service’s')
  if (secrets.get(name) === undefined) throw refused(`${name} is not set in the daemon’s environment`)
}

/** Where the catalog's provider is, with the vendor's variable. */
export const addressOf = (
  { base_url, base_url_env }: Pick<ProviderEntry, 'base_url' | 'base_url_env'>,
  secrets: Secrets,
): string => (base_url_env === undefined ? undefined : secrets.get(base_url_env)) ?? base_url

/** The key behind a reference; undefined: there is none now. */
export async function readKeyRef(ref: string, places: KeyPlaces): Promise<string | undefined> {
  const id = shelfId(ref)
  if (id !== undefined) return places.shelf.get(id)
  const rest = ref.slice(ref.indexOf(':') + 1)
  if (ref.startsWith('env:')) return keyText(places.secrets.get(rest) ?? '')
  if (ref.startsWith('keychain:')) return readKeychain(rest, places.keychain)
  const read = await places.files.read(rest)
  return read.kind === 'read' ? read.key : undefined
}

const refused = (why: string): Failure => new Failure('invalid_request', `key_ref: ${why}`)
