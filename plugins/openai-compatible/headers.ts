import { Failure } from '#contracts/errors'
import type { Credential } from '#contracts/model/provider'

type HeaderFields = Readonly<Record<string, string>>

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** They say how a message is framed or where it goes, or that its answer is not to be compressed. */
const OURS = new Set([
  ...['accept-encoding', 'connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'host'],
  ...['keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
])
const STANDARD: HeaderFields = {
  'content-type': 'application/json',
  accept: 'text/event-stream, application/json',
  'accept-encoding': 'identity',
  'user-agent': 'runwright',
}

/** The headers of a provider's requests: ours, those of its entry, and those of the credential, which win in this order. */
export class RequestHeaders {
  private readonly fixed: HeaderFields
  private lastCredential: Credential | undefined
  private lastHeaders: string[]

  /** Throws a `Failure` that names the provider and a header that cannot be sent. */
  constructor(provider: string, headers: HeaderFields) {
    const wrong = firstWrong(headers)
    if (wrong !== undefined)
      throw new Failure('not_configured', `the header ${wrong} of provider ${provider} cannot be sent: ${WHY}`)
    this.fixed = { ...STANDARD, ...lowerCased(headers) }
    this.lastHeaders = listed(this.fixed)
  }

  /** As undici takes them; undefined for a credential that no header can carry. */
  with(credential: Credential | undefined): string[] | undefined {
    if (credential !== this.lastCredential) {
      const headers = credential === undefined ? {} : credentialHeaders(credential)
      if (firstWrong(headers) !== undefined) return undefined
      this.lastCredential = credential
      this.lastHeaders = listed({ ...this.fixed, ...lowerCased(headers) })
    }
    return this.lastHeaders
  }
}

const WHY = 'names are tokens, values are printable on one line, and framing, host and encoding are not for entries'

const credentialHeaders = ({ secret, headers = {} }: Credential): HeaderFields => ({
  ...(secret === '' ? {} : { authorization: `Bearer ${secret}` }),
  ...headers,
})

function firstWrong(headers: HeaderFields): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (!NAME.test(lower) || OURS.has(lower) || !VALUE.test(value)) return JSON.stringify(name)
  }
  return undefined
}

const lowerCased = (headers: HeaderFields): HeaderFields =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const listed = (headers: HeaderFields): string[] => Object.entries(headers).flat()
