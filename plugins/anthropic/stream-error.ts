import type { ModelFailure } from '#contracts/model/client'
import { readError } from '#contracts/model/wire/error-text'
import { streamFailure } from '#contracts/model/wire/http-failure'

/** The status each kind of error has when it comes before the answer instead of in it. */
const STATUSES: ReadonlyMap<unknown, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/** What an error inside an otherwise successful answer means. */
export function errorFailure(host: string, error: unknown, secret: string): ModelFailure {
  const { text, code, status: stated } = readError(error, secret)
  const status = STATUSES.get((error as { readonly type?: unknown }).type) ?? stated
  return streamFailure(host, { text, code, ...(status === undefined ? {} : { status }) })
}
