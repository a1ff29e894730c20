import type { ServerResponse } from 'node:http'
import { FAILURES, type Failure, isFailure } from '#contracts/errors'

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
  if (isFailure(error)) return ofFailure(error)
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  const row = FRAMEWORK[code]
  if (row !== undefined) return envelope(row.status, row.code, row.message)
  if (isClientFault(error, code)) return envelope(400, 'invalid_request', 'the request could not be read')
  return envelope(500, 'internal_error', 'internal error', {}, true)
}

/** Writes an error on a response that no framework has touched. */
export function writeFailure(response: ServerResponse, error: unknown, extra: Readonly<Record<string, string>> = {}) {
  const { status, headers, body } = toReply(error)
  response.writeHead(status, { ...headers, ...extra, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

const FRAMEWORK: Readonly<
  Record<string, { readonly status: number; readonly code: string; readonly message: string }>
> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { status: 413, code: 'request_too_large', message: 'the request body is too large' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    code: 'unsupported_media_type',
    message: 'send the body as application/json',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    status: 400,
    code: 'invalid_request',
    message: 'the body is not as long as Content-Length says',
  },
  ECONNRESET: { status: 400, code: 'invalid_request', message: 'the client went away' },
}

/** Refusals of the framework itself, which carry its own prefix and a status in the four hundreds. */
function isClientFault(error: unknown, code: string): boolean {
  if (!code.startsWith('FST_') || typeof error !== 'object' || error === null) return false
  return (
    'statusCode' in error && typeof error.statusCode === 'number' && error.statusCode >= 400 && error.statusCode < 500
  )
}

function ofFailure({ code, message, details }: Failure): WireReply {
  // A failure of a newer generation may have a code this kernel does not know yet.
  const row: { readonly status: number; readonly wire?: string } = FAILURES[code] ?? FAILURES.internal_error
  if (code === 'insufficient_scope' && details.required !== undefined)
    return { ...envelope(403, code, ''), body: JSON.stringify({ error: code, required: details.required }) }
  return envelope(row.status, row.wire ?? code, message, details, row.status === 500 || row.status === 502)
}

function envelope(
  status: number,
  code: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
  isSurprise = false,
): WireReply {
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  if (typeof details.allow === 'string') headers.allow = details.allow
  if (status === 503 || status === 429) headers['retry-after'] = String(details.retryAfterSeconds ?? 1)
  return { status, headers, body: JSON.stringify({ error: { code, message } }), isSurprise }
}
