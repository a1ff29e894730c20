import { Failure } from '#contracts/errors'

/** Where requests go. */
export interface Endpoint {
  readonly origin: string
  /** Path and query of the chat-completions endpoint. */
  readonly path: string
  /** Host with port, for messages. */
  readonly host: string
  readonly isOpenAi: boolean
}

const VERSION_SEGMENT = /\/v\d+[a-z0-9]*(?:\/|$)/

/**
 * Reads a base URL. A base without a version segment (`http://localhost:8000`) gets `/v1`; one that has it
 * (`…/v1`, `…/v1beta/openai`) is taken as it is.
 */
export function parseEndpoint(baseUrl: string): Endpoint {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw refused('it must be an absolute http(s) URL such as https://api.openai.com/v1')
  if (url.username !== '' || url.password !== '')
    throw refused('it must not carry a user name or password; put the key in OPENAI_API_KEY')
  const root = url.pathname.replace(/\/+$/, '')
  const versioned = VERSION_SEGMENT.test(root) ? root : `${root}/v1`
  return {
    origin: url.origin,
    path: `${versioned}/chat/completions${url.search}`,
    host: url.host,
    isOpenAi: url.hostname === 'api.openai.com',
  }
}

const refused = (why: string) =>
  new Failure('not_configured', `OPENAI_BASE_URL (plugins.openai-compatible.baseUrl) cannot be used: ${why}`)
