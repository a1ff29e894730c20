import type { Agent } from 'undici'
import { messageOf } from '#contracts/errors'
import type { ModelFailure } from '#contracts/model/client'
import type { Credential, WireOptions } from '#contracts/model/provider'
import type { Endpoint } from './endpoint.js'
import { MAX_ERROR_CHARS } from './error-text.js'
import { Exchange, type ResponseHeaders } from './exchange.js'
import { RequestHeaders } from './headers.js'
import { type Failed, RefusedBody, type ResponseBody } from './response-body.js'

export interface TransportLimits {
  /** Silence in a stream that counts as a stall. */
  readonly idleMs: number
  /** Wait for the first byte of a response. */
  readonly headersMs: number
  readonly connectMs: number
}

/** One request and what to make of its response. */
export interface Call<T> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  body?(): Buffer
  /** The response is a good one. `secret` is what the request was sent with, to be kept out of messages. */
  open(headers: ResponseHeaders, secret: string): ResponseBody<T> | ModelFailure
  /** The server refused; answers what to make of it. */
  refused?(failure: ModelFailure): ModelFailure
  drained?(): Promise<void> | undefined
}

const MAX_ERROR_BODY_BYTES = 16 * 1024
const KEEP_ALIVE_MS = 15_000
const NEVER_FULL = (): undefined => undefined

/** The way to one server: credential, headers and sockets, which are opened on demand and kept. */
export class Transport {
  private readonly headers: RequestHeaders
  private agent: Agent | undefined
  private loading: Promise<Agent> | undefined
  private isClosed = false

  /** Throws a `Failure` for headers that cannot be sent. */
  constructor(
    private readonly endpoint: Endpoint,
    private readonly options: Pick<WireOptions, 'provider' | 'headers' | 'credential'>,
    private readonly limits: TransportLimits,
  ) {
    this.headers = new RequestHeaders(options.provider, options.headers)
  }

  /** One request, once. Never rejects. */
  exchange<T extends { readonly kind: string }>(call: Call<T>, signal: AbortSignal): Promise<T | Failed> {
    const { host } = this.endpoint
    let secret = ''
    const open = (status: number, headers: ResponseHeaders) =>
      status < 300 ? this.opened(headers, call, secret) : this.refused(status, headers, call, secret)
    const exchange = new Exchange<T>(host, open, call.drained ?? NEVER_FULL, signal)
    const send = (credential: Credential | undefined): void => {
      if (exchange.isSettled) return
      secret = credential?.secret ?? ''
      const headers = this.headers.with(credential)
      if (headers === undefined) exchange.fail(UNSENDABLE)
      else this.send(call, headers, exchange)
    }
    const refuse = (error: unknown): void =>
      exchange.fail({ category: 'auth', message: messageOf(error).slice(0, MAX_ERROR_CHARS) })
    if (exchange.isSettled) return exchange.outcome
    try {
      const credential = this.options.credential(signal)
      if (credential instanceof Promise) credential.then(send, refuse)
      else send(credential)
    } catch (error) {
      refuse(error)
    }
    return exchange.outcome
  }

  /** Ends every socket; what is in flight fails, and so does all that comes after. */
  async close(): Promise<void> {
    this.isClosed = true
    const agent = this.agent ?? (await this.loading?.catch(() => undefined))
    await agent?.destroy()
  }

  private send<T extends { readonly kind: string }>(call: Call<T>, headers: string[], exchange: Exchange<T>): void {
    const { origin, host } = this.endpoint
    const dispatch = (agent: Agent): void => {
      if (exchange.isSettled) return
      if (this.isClosed) {
        exchange.fail({ category: 'other', message: `the connection to ${host} is closed` })
        return
      }
      try {
        const body = call.body?.() ?? null
        agent.dispatch({ origin, path: call.path, method: call.method, headers, body }, exchange)
      } catch (error) {
        exchange.failUnsent(error)
      }
    }
    if (this.agent !== undefined) dispatch(this.agent)
    else this.load().then(dispatch, error => exchange.failUnsent(error))
  }

  private opened<T>(headers: ResponseHeaders, call: Call<T>, secret: string): ResponseBody<T> | ModelFailure {
    const { host } = this.endpoint
    const encoding = String(headers['content-encoding'] ?? 'identity')
    if (encoding !== 'identity')
      return { category: 'other', message: `${host} compressed its answer (${encoding}) though it was asked not to` }
    if (mediaType(headers).includes('html'))
      return { category: 'other', message: `${host} answered with a web page: is the base URL the root of an API?` }
    return call.open(headers, secret)
  }

  private refused<T>(status: number, headers: ResponseHeaders, call: Call<T>, secret: string): ResponseBody<T> {
    const { host } = this.endpoint
    const judge = call.refused?.bind(call)
    return new RefusedBody({ host, status, headers }, secret, MAX_ERROR_BODY_BYTES, judge)
  }

  /** undici is loaded by the first request, not at start. Failing to load is tried again by the next one. */
  private load(): Promise<Agent> {
    const { idleMs, headersMs, connectMs } = this.limits
    this.loading ??= import('undici')
      .then(({ Agent }) => {
        this.agent = new Agent({
          pipelining: 1,
          keepAliveTimeout: KEEP_ALIVE_MS,
          bodyTimeout: idleMs,
          headersTimeout: headersMs,
          connect: { timeout: connectMs },
        })
        return this.agent
      })
      .catch(error => {
        this.loading = undefined
        throw error
      })
    return this.loading
  }
}

const UNSENDABLE: ModelFailure = {
  category: 'auth',
  message:
    'the credential holds characters that no HTTP header can carry: was it copied whole, and nothing else with it?',
}

export const mediaType = (headers: ResponseHeaders): string => String(headers['content-type'] ?? '').toLowerCase()
