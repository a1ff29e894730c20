import type { CredentialSource } from '#contracts/model/provider'
import type { ProviderOverlay } from '#contracts/model/providers'
import type { Undo } from '#contracts/plugin'
import type { CarriedState } from './carried.js'
import { own } from './catalogs.js'
import type { Directory, Provider } from './directory.js'

/**
 * What requests are sent with. Every credential belongs to one base URL: a key given over the API to the one that stood
 * then, an overlay's to the overlay's, a session and a variable's key to the one of catalog and variable. It is never
 * handed out for another.
 */
export class Credentials {
  readonly #sessions = new Map<string, CredentialSource>()

  constructor(
    private readonly directory: Directory,
    private readonly state: Pick<CarriedState, 'keys' | 'locked'>,
    private readonly variable: (name: string) => string | undefined,
  ) {}

  /** May this provider be asked, as far as keys go? */
  isSatisfied(provider: Provider): boolean {
    if (provider.address === undefined) return false
    return this.isKeyless(provider) || this.has(provider)
  }

  /** Is there something to send to where it stands? */
  has({ name, address }: Provider): boolean {
    return address !== undefined && this.for(name, address.url) !== undefined
  }

  setSession(name: string, source: CredentialSource): Undo {
    this.#sessions.set(name, source)
    return () => {
      if (this.#sessions.get(name) === source) this.#sessions.delete(name)
    }
  }

  /** The imported session that requests would be sent with; undefined: another credential, or none. */
  sessionOf(provider: Provider): CredentialSource | undefined {
    const session = this.#sessions.get(provider.name)
    if (session === undefined || provider.address === undefined) return undefined
    return this.for(provider.name, provider.address.url) === session ? session : undefined
  }

  /** Its key was given for another address. */
  hasStrayKey({ name, address }: Provider): boolean {
    const key = this.state.keys.get(name)
    return key !== undefined && key.address !== address?.url
  }

  /** A key is stored for it that cannot be read. */
  hasLockedKey({ name }: Provider): boolean {
    return this.state.locked.has(name)
  }

  /** A server on this machine, or one that says so, takes requests without a key. */
  isKeyless({ entry, address }: Provider): boolean {
    if (entry.token_source_required) return false
    return entry.api_key_optional === true || address?.isLoopback === true
  }

  /** What a request to this address is sent with. Undefined: there is nothing that belongs there. */
  for(name: string, address: string): CredentialSource | undefined {
    return this.#find(name, address)?.source
  }

  /** The variable whose key requests are sent with; undefined: another credential, or none. */
  variableOf({ name, address }: Provider): string | undefined {
    return address && this.#find(name, address.url)?.variable
  }

  #find(name: string, address: string): { readonly source: CredentialSource; readonly variable?: string } | undefined {
    const key = this.state.keys.get(name)
    if (key?.address === address) return { source: () => ({ secret: key.secret }) }
    const laid = this.directory.overlays.findLast(
      overlay => own(overlay.credentials, name) !== undefined && this.#addressOf(overlay, name) === address,
    )
    const source = own(laid?.credentials, name)
    if (source !== undefined) return { source }
    const below = this.directory.underneath(name)
    if (below?.address?.url !== address) return undefined
    const session = this.#sessions.get(name)
    if (session !== undefined) return { source: session }
    const { api_key_env: variable, token_source_required: isSession } = below.entry
    const secret = variable === undefined || isSession ? undefined : this.variable(variable)?.trim()
    return variable !== undefined && secret ? { source: () => ({ secret }), variable } : undefined
  }

  /** Where an overlay's credential for a provider belongs; undefined while another overlay hides it. */
  #addressOf(overlay: ProviderOverlay, name: string): string | undefined {
    if (own(overlay.providers, name) === undefined) return this.directory.underneath(name)?.address?.url
    const standing = this.directory.find(name)
    return standing?.overlay === overlay ? standing.address?.url : undefined
  }
}
