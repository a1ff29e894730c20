import { Failure } from '#contracts/errors'
import { parseAddress, shownUrl } from './address.js'
import { withoutPrefix } from './canonical.js'
import type { Credentials } from './credentials.js'
import type { Directory, Provider } from './directory.js'
import type { Models } from './models.js'
import type { Scene } from './refusals.js'
import type { Routable } from './route.js'

/** The provider that answers when only a key is set, and the host that is its vendor's own. */
const BARE = { name: 'openai', host: /(?:^|\.)api\.openai\.com$/ }

/** How things stand with providers: who may be asked, what each takes, and what to say of those who may not. */
export class Standing {
  constructor(
    readonly directory: Directory,
    readonly credentials: Credentials,
    readonly models: Models,
  ) {}

  isConfigured(provider: Provider): boolean {
    return provider.wire !== undefined && this.credentials.isSatisfied(provider)
  }

  /** What to do so that it can be asked; undefined: nothing. */
  missing(provider: Provider): string | undefined {
    if (this.isConfigured(provider)) return undefined
    const { name, entry, address, addressFrom, wire } = provider
    if (wire === undefined) return `no plugin speaks its protocol "${entry.protocol}"`
    if (address === undefined)
      return `its base URL${addressFrom === undefined ? '' : `, from ${addressFrom},`} must be an absolute http(s) URL without user name and password`
    if (entry.token_source_required) return `import its session: POST /v1/providers/${name}/import-subscription`
    const put = `PUT /v1/providers/${name}/key`
    if (this.credentials.hasStrayKey(provider))
      return `its key was given for another base URL than ${shownUrl(address.url)}; give it one for this: ${put}`
    const variable = this.#ownVariable(provider)
    const todo = variable === undefined ? `give it a key: ${put}` : `set ${variable}, or ${put}`
    return this.credentials.hasLockedKey(provider)
      ? `its stored key cannot be read with SVC_PROVIDER_KEYS_SECRET as it is now; put the old secret back, or ${todo}`
      : todo
  }

  /** The variable whose key belongs to where it stands: to the address of catalog and variable. */
  #ownVariable({ name, address }: Provider): string | undefined {
    const below = this.directory.underneath(name)
    return address !== undefined && below?.address?.url === address.url ? below.entry.api_key_env : undefined
  }

  /** What to do when its server did not take what it was asked with. */
  whenRefused(provider: Provider): string {
    const { name } = provider
    const put = `PUT /v1/providers/${name}/key`
    if (!this.credentials.has(provider)) {
      const own = this.#ownVariable(provider)
      return `it wants a key: ${own === undefined ? '' : `set ${own}, or `}${put}`
    }
    if (this.credentials.sessionOf(provider) !== undefined)
      return `its session was refused; import it again: POST /v1/providers/${name}/import-subscription`
    const variable = this.credentials.variableOf(provider)
    return `its key was refused; ${variable === undefined ? '' : `set another ${variable}, or `}${put}`
  }

  /** A `Failure` when it cannot be asked. */
  refusalOf(provider: Provider): Failure | undefined {
    const missing = this.missing(provider)
    return missing === undefined
      ? undefined
      : new Failure('not_configured', `provider ${provider.name} cannot be asked: ${missing}`, {
          details: { provider: provider.name },
        })
  }

  /** Is it a server of the deployment's own, of which no list says what it has? */
  takesAnything({ name, entry, address, addressFrom }: Provider): boolean {
    if (entry.is_hidden || entry.api_key_optional || address?.isLoopback) return true
    if (name === BARE.name) return address !== undefined && !BARE.host.test(address.host)
    return addressFrom !== undefined && parseAddress(entry.base_url)?.host !== address?.host
  }

  /** What answers when only a key is set. */
  readonly bareName = BARE.name

  get bare(): Provider | undefined {
    return this.directory.find(BARE.name)
  }

  /**
   * The id under which a provider takes a model that somebody else was asked for; undefined: it does not. An aggregator
   * takes the models of all, under the ids it has for them.
   */
  fit(provider: Provider, model: string): string | undefined {
    const known = this.models.idOf(provider, model)
    if (known !== undefined) return known
    const { entry, name } = provider
    if (entry.is_aggregator) {
      const isTaken = model.includes('/') || this.takesAnything(provider)
      return this.models.oneEnding(provider, `/${model}`) ?? (isTaken ? model : undefined)
    }
    const rest = withoutPrefix(name, model)
    const behind = rest === undefined ? undefined : this.models.idOf(provider, rest)
    return behind ?? (this.takesAnything(provider) ? (rest ?? model) : undefined)
  }

  /** The id to send to a provider that the caller chose: what it does not know is sent as it is. */
  canonical(provider: Provider, model: string): string {
    if (provider.entry.is_aggregator) return model
    const known = this.models.idOf(provider, model)
    if (known !== undefined) return known
    const rest = withoutPrefix(provider.name, model)
    return rest === undefined ? model : (this.models.idOf(provider, rest) ?? rest)
  }

  /** Those that take part in routing by model. */
  routable(): readonly Routable[] {
    return this.shown().map(provider => ({
      name: provider.name,
      isConfigured: this.isConfigured(provider),
      isAggregator: provider.entry.is_aggregator === true,
      stated: model => this.models.stated(provider, model),
      hasListed: model => this.models.learnedOf(provider).has(model),
    }))
  }

  /** All but the hidden ones, by name. */
  shown(): readonly Provider[] {
    return [...this.directory.all].filter(({ entry }) => entry.is_hidden !== true)
  }

  /** Those somebody set up; one that needs no key, of which nobody knows if it is there, does not count. */
  ready(): readonly string[] {
    const isSetUp = (provider: Provider) => !provider.entry.api_key_optional || this.credentials.has(provider)
    return this.shown()
      .filter(provider => this.isConfigured(provider) && isSetUp(provider))
      .map(({ name }) => name)
  }

  unknownProvider(field: string, name: string): Failure {
    const names = this.shown().map(provider => provider.name)
    const known = names.length === 0 ? 'there are none' : `there are ${names.join(', ')}`
    return new Failure('invalid_request', `${field}: there is no provider "${name.slice(0, 100)}"; ${known}`)
  }

  /** What a refusal tells of this deployment. */
  get scene(): Scene {
    return { ready: this.ready(), known: () => this.#known() }
  }

  *#known(): Iterable<readonly [string, string]> {
    for (const provider of this.shown())
      for (const name of [...this.models.ids(provider), ...Object.keys(provider.entry.aliases ?? {})])
        yield [name, provider.name]
  }
}
