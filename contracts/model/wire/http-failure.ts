import type { ModelFailure } from '../client.js'
import { parseErrorBody, type ServerError } from './error-text.js'

/** No server makes us wait longer than this. */
const MAX_RETRY_AFTER_MS = 30_000
const NUMBER = /^\d+(?:\.\d+)?$/
const RETRYABLE: ReadonlySet<number> = new Set([429, 500, 502, 503, 529])
/** What vendors behind this wire say of a request that is too long for the model; each has a row in a test. */
const TOO_LONG = new RegExp(
  [
    'context.?(?:length|window|size|limit)',
    'maximum (?:context|prompt|model) length',
    'maximum length of the model',
    'maximum number of tokens allowed',
    'too many (?:input |prompt )?tokens',
    '(?:prompt|input|request)(?: is)? too (?:long|large)',
    'too large for model',
    'reduce the length',
    'exceed(?:s|ed)? (?:the )?(?:model.?s? )?(?:max|token limit)',
    'token count of \\d+ exceeds',
    'range of input length',
    'tokens? \\+ .?max_new_tokens',
    'input length and .?max_tokens.? exceed',
  ].join('|'),
  'i',
)
const REFUSED_CONTENT =
  /content.?(?:filter|policy|management)|usage polic|moderation|safety system|(?:bio|cyber|content)_policy|data_inspection/i

export interface RefusedAnswer {
  readonly host: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** What an HTTP error of a provider means for the run. Never shows the key. */
export function httpFailure(answer: RefusedAnswer, apiKey: string, nowMs: number): ModelFailure {
  const { host, status } = answer
  if (status >= 300 && status < 400)
    return {
      category: 'other',
      status,
      message: `${host} answered ${status}: redirects are not followed, so that the key stays here; set the base URL to the final address`,
    }
  const error = parseErrorBody(answer.body, apiKey)
  const retryAfterMs = retryAfter(answer.headers, nowMs)
  return {
    category: categoryOf(status, error),
    status,
    message: `${host} answered ${status}${error.text === '' ? '' : `: ${error.text}`}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

/** What an error inside an otherwise successful answer means. */
export function streamFailure(host: string, error: ServerError): ModelFailure {
  return {
    category: categoryOf(error.status ?? 0, error),
    message: `${host} broke off its answer with an error${error.text === '' ? '' : `: ${error.text}`}`,
    ...(error.status === undefined ? {} : { status: error.status }),
  }
}

function categoryOf(status: number, { text, code }: ServerError): ModelFailure['category'] {
  if (status === 401 || status === 403) return REFUSED_CONTENT.test(code) ? 'content' : 'auth'
  if (RETRYABLE.has(status)) return 'retryable'
  if (status === 413) return 'context_length'
  if (status === 504) return 'other'
  const words = `${code} ${text}`
  if (TOO_LONG.test(words)) return 'context_length'
  if (REFUSED_CONTENT.test(words)) return 'content'
  if (status === 0 && /server_error|overloaded|rate_limit|unavailable|timeout/i.test(code)) return 'retryable'
  return 'other'
}

function retryAfter(headers: RefusedAnswer['headers'], nowMs: number): number | undefined {
  const value = [headers['retry-after']].flat()[0]?.trim() ?? ''
  const exact = [headers['retry-after-ms']].flat()[0]?.trim() ?? ''
  if (value === '' && !NUMBER.test(exact)) return undefined
  const statedMs = () => (NUMBER.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs)
  const waitMs = NUMBER.test(exact) ? Number(exact) : statedMs()
  return Number.isNaN(waitMs) ? undefined : Math.round(Math.min(MAX_RETRY_AFTER_MS, Math.max(0, waitMs)))
}
