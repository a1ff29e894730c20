import type { Agent } from 'undici'
import type { ModelClient, ModelFailure, ModelOutcome, ModelRequest, ModelSink } from '#contracts/model/client'
import { type AnswerBody, GuessedBody, RefusedBody, StreamedBody, WholeBody } from './answer-body.js'
import { AnswerReader } from './answer-reader.js'
import type { Endpoint } from './endpoint.js'
import { Exchange, type ResponseHeaders } from './exchange.js'
import { RequestBodyWriter } from './request-body.js'

export interface ChatClientOptions {
  readonly endpoint: Endpoint
  /** Empty: no authorization header. */
  readonly apiKey: string
  /** Silence in a stream that counts as a stall. */
  readonly idleMs: number
  /** Wait for the first byte of a response. */
  readonly headersMs: number
  readonly connectMs: number
  readonly maxEventChars?: number
  readonly maxAnswerChars?: number
  readonly maxToolCalls?: number
}

const MEBI = 1024 * 1024
const MAX_ERROR_BODY_BYTES = 16 * 1024
const KEEP_ALIVE_MS = 15_000

/** Chat completions at one server, streamed. Connections are made on demand and kept; `close` ends them all. */
export class ChatCompletionsClient implements ModelClient {
  private readonly writer = new RequestBodyWriter()
  private readonly headers: readonly string[]
  private readonly limits: { readonly maxAnswerChars: number; readonly maxToolCalls: number }
  private agent: Promise<Agent> | undefined

  constructor(
    readonly provider: string,
    private readonly options: ChatClientOptions,
  ) {
    const { apiKey, maxAnswerChars = 32 * MEBI, maxToolCalls = 128 } = options
    this.limits = { maxAnswerChars, maxToolCalls }
    this.headers = [
      ...['content-type', 'application/json', 'accept', 'text/event-stream, application/json'],
      ...['accept-encoding', 'identity', 'user-agent', 'runwright'],
      ...(apiKey === '' ? [] : ['authorization', `Bearer ${apiKey}`]),
    ]
  }

  answer(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome> {
    const open = (status: number, headers: ResponseHeaders) => this.openBody(status, headers, request, sink)
    const exchange = new Exchange(this.options.endpoint.host, open, sink, signal)
    void this.send(request, exchange)
    return exchange.outcome
  }

  /** Ends every connection; turns in flight fail. */
  async close(): Promise<void> {
    const agent = await this.agent
    await agent?.destroy()
  }

  private async send(request: ModelRequest, exchange: Exchange): Promise<void> {
    try {
      const body = this.writer.write(request)
      this.agent ??= this.openAgent()
      const agent = await this.agent
      const { origin, path } = this.options.endpoint
      if (exchange.isSettled) return
      agent.dispatch({ origin, path, method: 'POST', headers: this.headers as string[], body }, exchange)
    } catch (error) {
      exchange.onResponseError(undefined, error)
    }
  }

  private openBody(
    status: number,
    headers: ResponseHeaders,
    request: ModelRequest,
    sink: ModelSink,
  ): AnswerBody | ModelFailure {
    const { endpoint, apiKey, maxEventChars = 4 * MEBI } = this.options
    const { host } = endpoint
    if (status >= 300) return new RefusedBody({ host, status, headers }, apiKey, MAX_ERROR_BODY_BYTES)
    const encoding = String(headers['content-encoding'] ?? 'identity')
    if (encoding !== 'identity')
      return { category: 'other', message: `${host} compressed its answer (${encoding}) though it was asked not to` }
    const reader = new AnswerReader(host, apiKey, this.limits, sink, request.messages)
    const type = String(headers['content-type'] ?? '').toLowerCase()
    if (type.includes('html'))
      return { category: 'other', message: `${host} answered with a web page: is the base URL the root of an API?` }
    const whole = () => new WholeBody(host, reader, this.limits.maxAnswerChars)
    const streamed = () => new StreamedBody(host, reader, maxEventChars)
    if (type.includes('event-stream')) return streamed()
    return type.includes('json') ? whole() : new GuessedBody(whole, streamed)
  }

  /** undici is loaded by the first turn, not at start. Failing to load is retried by the next turn. */
  private async openAgent(): Promise<Agent> {
    const { idleMs, headersMs, connectMs } = this.options
    try {
      const { Agent } = await import('undici')
      return new Agent({
        pipelining: 1,
        keepAliveTimeout: KEEP_ALIVE_MS,
        bodyTimeout: idleMs,
        headersTimeout: headersMs,
        connect: { timeout: connectMs },
      })
    } catch (error) {
      this.agent = undefined
      throw error
    }
  }
}
