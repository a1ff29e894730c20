import type { Dispatcher } from 'undici'
import type { Web, WebAnswer, WebRefusal, WebRequest } from '#contracts/web'
import { guardedConnector } from './connector.js'
import type { Guard } from './guard.js'
import { readBody } from './read-body.js'
import { Refused, refusalIn, refuse } from './refusal.js'
import { parseTarget, type Target } from './target.js'

const MAX_REDIRECTS = 5
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Meant for one origin; a redirect to another must not get them. */
const BOUND_TO_ORIGIN = /^(authorization|cookie|proxy-authorization|x-api-key|api-key)$/i
const USER_AGENT = 'runwright (agent tool)'

/** The port `web`. Connections are not kept from one exchange to the next; `close` ends those of `fetch`. */
export class GuardedWeb implements Web {
  #streams: Promise<Dispatcher> | undefined

  constructor(private readonly guard: Guard) {}

  async exchange(request: WebRequest, signal: AbortSignal): Promise<WebAnswer | WebRefusal> {
    signal.throwIfAborted()
    const deadline = AbortSignal.timeout(request.timeoutMs)
    const dispatcher = await this.#agent()
    try {
      return await this.#follow(request, dispatcher, AbortSignal.any([signal, deadline]))
    } catch (error) {
      signal.throwIfAborted()
      const told = refusalIn(error)
      if (told) return told
      if (deadline.aborted)
        return refuse(
          'timeout',
          `No complete answer within ${request.timeoutMs / 1000} s. Try again or allow more time.`,
        )
      return refuse('unreachable', `The request failed: ${reasonOf(error)}.`)
    } finally {
      await dispatcher.destroy()
    }
  }

  async check(url: string): Promise<WebRefusal | undefined> {
    const target = parseTarget(url)
    if ('kind' in target) return target
    try {
      await this.guard.addressesOf(target.host, target.port)
      return undefined
    } catch (error) {
      const told = refusalIn(error)
      if (told) return told
      throw error
    }
  }

  async fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const target = parseTarget(String(url))
    if ('kind' in target) throw new TypeError('fetch failed', { cause: new Refused(target) })
    this.#streams ??= this.#agent()
    const [undici, dispatcher] = await Promise.all([import('undici'), this.#streams])
    const guarded = { ...init, redirect: 'manual', dispatcher }
    return (await undici.fetch(target.url, guarded as never)) as unknown as Response
  }

  async close(): Promise<void> {
    await (await this.#streams)?.destroy()
  }

  async #agent(): Promise<Dispatcher> {
    const { Agent, buildConnector } = await import('undici')
    return new Agent({ connect: guardedConnector(this.guard, buildConnector), pipelining: 1 })
  }

  async #follow(request: WebRequest, dispatcher: Dispatcher, signal: AbortSignal): Promise<WebAnswer | WebRefusal> {
    const most = request.maxRedirects ?? MAX_REDIRECTS
    let target = parseTarget(request.url)
    let { method = 'GET', headers = {}, body } = request
    for (let redirects = 0; ; redirects++) {
      if ('kind' in target) return target
      const answer = await send(target, { method, headers, body }, dispatcher, signal)
      const { location } = answer.headers
      if (!REDIRECTS.has(answer.statusCode) || typeof location !== 'string')
        return await read(target, answer, method === 'HEAD' ? 0 : request.maxBytes, signal)
      answer.body.destroy()
      // A body destroyed before its end complains to whoever listens; nobody else does.
      answer.body.on('error', () => undefined)
      if (redirects >= most)
        return refuse(
          'too_many_redirects',
          `More than ${most} redirects. Fetch the last address directly if you know it.`,
        )
      const next: Target | WebRefusal = parseTarget(location, target.url)
      if ('kind' in next) return next
      if (next.url.origin !== target.url.origin)
        headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !BOUND_TO_ORIGIN.test(name)))
      if (answer.statusCode < 307 && method === 'POST') {
        method = 'GET'
        body = undefined
      }
      target = next
    }
  }
}

function send(
  { url }: Target,
  request: Pick<WebRequest, 'headers'> & {
    readonly method: 'GET' | 'HEAD' | 'POST'
    readonly body: string | undefined
  },
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  return dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: request.method,
    headers: { 'user-agent': USER_AGENT, accept: '*/*', 'accept-encoding': 'gzip, deflate, br', ...request.headers },
    ...(request.body !== undefined && { body: request.body }),
    signal,
    // The deadline of the exchange covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

async function read(
  { url }: Target,
  answer: Dispatcher.ResponseData,
  maxBytes: number,
  signal: AbortSignal,
): Promise<WebAnswer> {
  const headers = Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
  const { bytes, isTruncated } = await readBody(answer.body, headers['content-encoding'] ?? '', maxBytes, signal)
  return { kind: 'answered', url: url.href, status: answer.statusCode, headers, body: bytes, isTruncated }
}

/** The code of a failed connection, without the addresses a name stands for. */
function reasonOf(error: unknown): string {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 8; depth++) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return code
    at = (at as { cause?: unknown }).cause
  }
  return 'no usable answer'
}
