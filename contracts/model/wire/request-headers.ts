import { Failure } from '../../errors.js'
import type { Credential } from '../provider.js'

export type HeaderFields = Readonly<Record<string, string>>

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** They say how a message is framed or where it goes, or that its answer is not to be compressed. */
const OURS = new Set([
  ...['accept-encoding', 'connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'host'],
  ...['keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
])
const WHY = 'names are tokens, values are printable on one line, and framing, host and encoding are not for entries'
const STANDARD: HeaderFields = {
  'content-type': 'application/json',
  accept: 'text/event-stream, application/json',
  'accept-encoding': 'identity',
  'user-agent': 'runwright',
}

/** The headers of a provider's requests: a wire's own, those of the provider's entry, and the credential's; later ones win. */
export class RequestHeaders {
  private readonly fixed: HeaderFields
  private lastCredential: Credential | undefined
  private lastHeaders: readonly string[]

  /**
   * `ofCredential` gives the headers a credential is sent in, with those it brings itself. Throws a `Failure` that names
   * the provider and a header that cannot be sent.
   */
  constructor(
    provider: string,
    ofWire: HeaderFields,
    ofEntry: HeaderFields,
    private readonly ofCredential: (credential: Credential) => HeaderFields,
  ) {
    const wrong = firstWrong(ofEntry)
    if (wrong !== undefined)
      throw new Failure('not_configured', `provider ${provider} cannot send the header ${wrong}: ${WHY}`)
    this.fixed = { ...STANDARD, ...ofWire, ...lowerCased(ofEntry) }
    this.lastHeaders = Object.entries(this.fixed).flat()
  }

  /** Names and values in turns; undefined for a credential that no header can carry. */
  with(credential: Credential | undefined): readonly string[] | undefined {
    if (credential !== this.lastCredential) {
      const headers = credential === undefined ? {} : this.ofCredential(credential)
      if (firstWrong(headers) !== undefined) return undefined
      this.lastCredential = credential
      this.lastHeaders = Object.entries({ ...this.fixed, ...lowerCased(headers) }).flat()
    }
    return this.lastHeaders
  }
}

function firstWrong(headers: HeaderFields): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (!NAME.test(lower) || OURS.has(lower) || !VALUE.test(value)) return JSON.stringify(name)
  }
  return undefined
}

const lowerCased = (headers: HeaderFields): HeaderFields =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
