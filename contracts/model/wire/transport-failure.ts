import type { ModelFailure } from '../client.js'

const RETRYABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'reset the connection',
  ECONNABORTED: 'broke the connection',
  EPIPE: 'closed the connection',
  ETIMEDOUT: 'did not answer in time',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached (no network)',
  ENOTFOUND: 'is not a known host name',
  EAI_AGAIN: 'could not be looked up (DNS)',
  UND_ERR_CONNECT_TIMEOUT: 'could not be connected to in time',
  UND_ERR_HEADERS_TIMEOUT: 'sent no answer in time',
  UND_ERR_BODY_TIMEOUT: 'stalled: its stream went silent for too long',
  UND_ERR_SOCKET: 'closed the connection before its answer was complete',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'closed the connection before its answer was complete',
}

/** What a broken or never made connection means. Always names the host. */
export function transportFailure(host: string, error: unknown): ModelFailure {
  const code = codeOf(error)
  const words = RETRYABLE[code]
  if (words !== undefined) return { category: 'retryable', message: `${host} ${words} (${code})` }
  return {
    category: 'other',
    message: `the request to ${host} failed${code === '' ? '' : ` (${code})`}: ${textOf(error)}`,
  }
}

/** An undici socket error carries the system's code, if there was one, in its cause. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  if (typeof code === 'string' && code in RETRYABLE) return code
  return codeOf(cause) || (typeof code === 'string' ? code : '')
}

const textOf = (error: unknown): string =>
  (error instanceof Error && error.message !== '' ? error.message : 'unknown error').slice(0, 300)
