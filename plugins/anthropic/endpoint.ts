import { Failure } from '#contracts/errors'

/** Where requests go; paths with the query of the base URL. */
export interface Endpoint {
  readonly origin: string
  readonly messagesPath: string
  readonly modelsPath: string
}

const VERSION_SEGMENT = /\/v\d+[a-z0-9]*(?:\/|$)/
/** The longest page there is. Longer lists are cut there. */
const LIST_LIMIT = '1000'

/** Reads a base URL. One without a version segment (`https://api.anthropic.com`, as the vendor writes it) gets `/v1`. */
export function parseEndpoint(provider: string, baseUrl: string): Endpoint {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw refused(provider, 'it must be an absolute http(s) URL such as https://api.anthropic.com/v1')
  if (url.username !== '' || url.password !== '')
    throw refused(provider, 'it must not carry a user name or password; give the key as a key')
  const path = url.pathname.replace(/\/+$/, '')
  const root = VERSION_SEGMENT.test(path) ? path : `${path}/v1`
  const list = new URLSearchParams(url.search)
  list.set('limit', LIST_LIMIT)
  return { origin: url.origin, messagesPath: `${root}/messages${url.search}`, modelsPath: `${root}/models?${list}` }
}

const refused = (provider: string, why: string) =>
  new Failure('not_configured', `the base URL of ${provider} cannot be used: ${why}`)
