import { Failure } from '#contracts/errors'

/** Where requests go. Paths carry the query of the base URL. */
export interface Endpoint {
  readonly origin: string
  /** Host with port, for messages. */
  readonly host: string
  readonly chatPath: string
  readonly responsesPath: string
  readonly modelsPath: string
}

/**
 * Reads a base URL. One with a path is the root of the API and taken as it is (`…/v1`, `…/v1beta/openai`,
 * `…/backend-api/codex`), as the vendor's own package does; one without (`http://localhost:8000`) gets `/v1`.
 * `setting` is what a refusal calls it.
 */
export function parseEndpoint(baseUrl: string, setting: string): Endpoint {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw refused(setting, 'it must be an absolute http(s) URL such as https://api.openai.com/v1')
  if (url.username !== '' || url.password !== '')
    throw refused(setting, 'it must not carry a user name or password; give the key as a key')
  const root = url.pathname.replace(/\/+$/, '') || '/v1'
  return {
    origin: url.origin,
    host: url.host,
    chatPath: `${root}/chat/completions${url.search}`,
    responsesPath: `${root}/responses${url.search}`,
    modelsPath: `${root}/models${url.search}`,
  }
}

const refused = (setting: string, why: string) => new Failure('not_configured', `${setting} cannot be used: ${why}`)
