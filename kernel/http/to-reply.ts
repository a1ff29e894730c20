import type { ServerResponse } from 'node:http'
import { FAILURES, Failure, isFailure } from '#contracts/errors'

/** An error as it goes over the wire. */
export interface WireReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** True when somebody should look: a bug, or a part of ours that failed. */
  readonly isSurprise: boolean
}

/**
 * The one way from an error to a reply. A `Failure` keeps its sentence; what the framework refuses gets our code; of
 * anything else a client learns nothing but `internal_error`. Machine facts that become headers: `allow`,
 * `retryAfterSeconds`.
 */
export function toReply(error: unknown): WireReply {
  const { code, message, details } = isFailure(error) ? error : ofFramework(error)
  // A failure of a newer generation may have a code this kernel does not know yet.
  const row: { readonly status: number; readonly wire?: string } = FAILURES[code] ?? FAILURES.internal_error
  const { status, wire = code } = row
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  if (typeof details.allow === 'string') headers.allow = details.allow
  if (status === 503 || status === 429) headers['retry-after'] = String(details.retryAfterSeconds ?? 1)
  const isScope = code === 'insufficient_scope' && details.required !== undefined
  const body = isScope ? { error: code, required: details.required } : { error: { code: wire, message } }
  return { status, headers, body: JSON.stringify(body), isSurprise: status === 500 || status === 502 }
}

/** Writes an error on a response that no framework has touched. */
export function writeFailure(response: ServerResponse, error: unknown) {
  const { status, headers, body } = toReply(error)
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

const FRAMEWORK: ReadonlyMap<unknown, Failure> = new Map([
  ['FST_ERR_CTP_BODY_TOO_LARGE', new Failure('request_too_large', 'the request body is too large')],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', new Failure('unsupported_media_type', 'send the body as application/json')],
  [
    'FST_ERR_CTP_INVALID_CONTENT_LENGTH',
    new Failure('invalid_request', 'the body is not as long as Content-Length says'),
  ],
  ['ECONNRESET', new Failure('invalid_request', 'the client went away')],
])

/** Refusals of the framework itself carry its own prefix and a status in the four hundreds; all else is a bug. */
function ofFramework(error: unknown): Failure {
  const { code, statusCode } = Object(error) as { readonly code?: unknown; readonly statusCode?: unknown }
  const known = FRAMEWORK.get(code)
  if (known !== undefined) return known
  const isRefusal = String(code).startsWith('FST_') && Number(statusCode) >= 400 && Number(statusCode) < 500
  return isRefusal
    ? new Failure('invalid_request', 'the request could not be read')
    : new Failure('internal_error', 'internal error')
}
