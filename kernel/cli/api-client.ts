import type { IncomingMessage } from 'node:http'
import { messageOf } from '#contracts/errors'

/** What came of a request. Nothing here throws: a daemon that is down is an answer like any other. */
export type ApiReply<T> = { readonly kind: 'answered'; readonly status: number; readonly body: T } | ApiProblem

export type ApiProblem =
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly code: string
      readonly message: string
      readonly retryAfterMs?: number
    }
  | { readonly kind: 'unreachable'; readonly baseUrl: string; readonly because: string }

type Method = 'GET' | 'POST' | 'PUT'

export interface RequestOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Talks to one daemon. */
export interface ApiClient {
  readonly baseUrl: string
  /** An answer without a body (204) has an undefined one. */
  request<T>(method: Method, path: string, options?: RequestOptions): Promise<ApiReply<T>>
  /** An answer whose body is read by the caller; refusals are read and explained as by `request`. */
  open(path: string, options?: RequestOptions): Promise<ApiReply<IncomingMessage>>
}

const MAX_BODY_BYTES = 64 * 1024 * 1024
const REQUEST_TIMEOUT_MS = 45_000

/** `baseUrl` must be an http or https address; a path in it is kept as a prefix. */
export function createApiClient(baseUrl: string, token: string | undefined): ApiClient {
  const base = baseUrl.replace(/\/+$/, '')

  async function send(method: string, path: string, options: RequestOptions): Promise<IncomingMessage> {
    const url = new URL(`${base}${path}`)
    const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
    const body = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body))
    return new Promise((resolve, reject) => {
      const outgoing = request(
        url,
        {
          method,
          agent: false,
          headers: {
            accept: 'application/json, text/event-stream',
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.byteLength }),
            ...options.headers,
          },
          ...(options.signal === undefined ? {} : { signal: options.signal }),
        },
        resolve,
      )
      outgoing.setTimeout(REQUEST_TIMEOUT_MS, () => outgoing.destroy(new Error('no answer in time')))
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }

  async function open(method: string, path: string, options: RequestOptions = {}): Promise<ApiReply<IncomingMessage>> {
    try {
      const answer = await send(method, path, options)
      const status = answer.statusCode ?? 0
      if (status >= 200 && status < 300) return { kind: 'answered', status, body: answer }
      return refusalOf(answer, await readText(answer))
    } catch (error) {
      return { kind: 'unreachable', baseUrl: base, because: reasonOf(error) }
    }
  }

  return {
    baseUrl: base,
    open: (path, options) => open('GET', path, options),
    async request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<ApiReply<T>> {
      const reply = await open(method, path, options)
      if (reply.kind !== 'answered') return reply
      try {
        const text = await readText(reply.body)
        return { ...reply, body: (reply.status === 204 ? undefined : JSON.parse(text)) as T }
      } catch (error) {
        return { kind: 'unreachable', baseUrl: base, because: `the answer could not be read: ${reasonOf(error)}` }
      }
    },
  }
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > MAX_BODY_BYTES) throw new Error(`the answer is larger than ${MAX_BODY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Reads the envelope; the scope failure has a shape of its own, and a proxy in between may answer no JSON at all. */
function refusalOf(answer: IncomingMessage, text: string): ApiProblem {
  const status = answer.statusCode ?? 0
  const seconds = Number(answer.headers['retry-after'])
  const wait = Number.isFinite(seconds) && seconds >= 0 ? { retryAfterMs: seconds * 1000 } : {}
  const body = parsed(text)
  if (body?.error === 'insufficient_scope') {
    const message = `this key lacks the scope ${String(body.required)}`
    return { kind: 'refused', status, code: 'insufficient_scope', message, ...wait }
  }
  const error = body?.error as { code?: unknown; message?: unknown } | undefined
  if (typeof error?.code === 'string')
    return { kind: 'refused', status, code: error.code, message: String(error.message ?? ''), ...wait }
  const message = text.slice(0, 200).trim() || (answer.statusMessage ?? '')
  return { kind: 'refused', status, code: `http_${status}`, message, ...wait }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** A connection tried on several addresses fails with an AggregateError whose own message is empty. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  return messageOf(error) || 'the connection failed'
}
