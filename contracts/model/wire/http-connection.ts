import type { Dispatcher } from 'undici'
import { isFailure, messageOf } from '../../errors.js'
import type { ModelFailure, ModelOutcome, ModelRequest, ModelSink } from '../client.js'
import type { Credential, CredentialSource, FetchedModels, ModelConnection } from '../provider.js'
import { AnswerDraft, type AnswerLimits } from './answer-draft.js'
import { MAX_ERROR_CHARS } from './error-text.js'
import { Exchange, type ResponseHeaders } from './exchange.js'
import { openAnswer, openList } from './open-body.js'
import type { RequestHeaders } from './request-headers.js'
import type { AnswerReader, Failed, ResponseBody } from './response-body.js'

export interface HttpLimits extends AnswerLimits {
  /** Characters of one event, unless the call says otherwise. */
  readonly maxEventChars: number
}

const MEBI = 1024 * 1024

export const HTTP_LIMITS: HttpLimits = Object.freeze({
  maxEventChars: 4 * MEBI,
  maxAnswerChars: 32 * MEBI,
  maxToolCalls: 128,
})

/** One turn as it is asked, and how its answer is read. Paths carry the query of the base URL. */
export interface TurnCall {
  readonly path: string
  readonly body: Buffer
  readonly maxEventChars?: number
  /** Called when the head of a good response is there. `secret` is to be masked in what a server says of errors. */
  reader(draft: AnswerDraft, secret: string): AnswerReader
  /** The server refused; answers what to make of it. */
  refused?(failure: ModelFailure): ModelFailure
}

/** What one wire says over HTTP. */
export interface HttpDialect {
  readonly headers: RequestHeaders
  readonly modelsPath: string
  /** Called right before a request is sent. */
  turn(request: ModelRequest): TurnCall
}

export interface HttpConnectionOptions {
  readonly provider: string
  readonly origin: string
  readonly credential: CredentialSource
  readonly limits: HttpLimits
  /** Called by the first request, and again by the next one when it failed. The connection destroys what it answers. */
  openAgent(): Promise<Dispatcher>
}

/** A request and how its response is read. */
interface Call<T> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: Buffer | null
  open(status: number, headers: ResponseHeaders): ResponseBody<T> | ModelFailure
}

/** All of a `ModelConnection` but the words of its wire: one request per turn, no redirects, no retries. */
export class HttpConnection implements ModelConnection {
  readonly provider: string
  private readonly host: string
  private agent: Dispatcher | undefined
  private loading: Promise<Dispatcher> | undefined
  private isClosed = false

  constructor(
    private readonly dialect: HttpDialect,
    private readonly options: HttpConnectionOptions,
  ) {
    this.provider = options.provider
    this.host = new URL(options.origin).host
  }

  answer(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome> {
    const { host } = this
    const { limits } = this.options
    const callWith = (secret: string): Call<ModelOutcome> => {
      const turn = this.dialect.turn(request)
      const { path, body, maxEventChars = limits.maxEventChars } = turn
      return {
        ...{ method: 'POST', path, body },
        open: (status, headers) =>
          openAnswer({
            ...{ host, status, headers, secret, maxEventChars, maxAnswerChars: limits.maxAnswerChars },
            reader: () => turn.reader(new AnswerDraft(host, limits, sink, request.messages), secret),
            refused: failure => turn.refused?.(failure) ?? failure,
          }),
      }
    }
    return this.exchange(callWith, () => sink.drained(), signal)
  }

  fetchModels(signal: AbortSignal): Promise<FetchedModels> {
    const { host } = this
    const callWith = (secret: string): Call<Exclude<FetchedModels, Failed>> => ({
      ...{ method: 'GET', path: this.dialect.modelsPath, body: null },
      open: (status, headers) => openList({ host, status, headers, secret }),
    })
    return this.exchange(callWith, NEVER_FULL, signal)
  }

  async close(): Promise<void> {
    this.isClosed = true
    const agent = this.agent ?? (await this.loading?.catch(() => undefined))
    await agent?.destroy()
  }

  /** One request, sent within this tick where credential and agent are at hand. Never rejects. */
  private exchange<T extends { readonly kind: string }>(
    callWith: (secret: string) => Call<T>,
    drained: () => Promise<void> | undefined,
    signal: AbortSignal,
  ): Promise<T | Failed> {
    let open: Call<T>['open'] = () => NOTHING_ASKED
    const exchange = new Exchange<T>(this.host, (status, headers) => open(status, headers), drained, signal)
    if (exchange.isSettled) return exchange.outcome
    const send = (credential: Credential | undefined): void => {
      if (exchange.isSettled) return
      const headers = this.dialect.headers.with(credential)
      if (headers === undefined) {
        exchange.fail(UNSENDABLE)
        return
      }
      const dispatch = (agent: Dispatcher): void => {
        if (exchange.isSettled) return
        try {
          if (this.isClosed) throw new Error('this connection is closed')
          const call = callWith(credential?.secret ?? '')
          const { method, path, body } = call
          open = call.open
          agent.dispatch({ origin: this.options.origin, path, method, headers: headers as string[], body }, exchange)
        } catch (error) {
          exchange.failUnsent(error)
        }
      }
      if (this.agent !== undefined) dispatch(this.agent)
      else this.load().then(dispatch, error => exchange.failUnsent(error))
    }
    const refuse = (error: unknown): void => exchange.fail(refusalOf(error))
    try {
      const credential = this.options.credential(signal)
      if (credential instanceof Promise) credential.then(send, refuse)
      else send(credential)
    } catch (error) {
      refuse(error)
    }
    return exchange.outcome
  }

  private load(): Promise<Dispatcher> {
    this.loading ??= this.options.openAgent().then(
      agent => {
        this.agent = agent
        return agent
      },
      error => {
        this.loading = undefined
        throw error
      },
    )
    return this.loading
  }
}

const NEVER_FULL = (): undefined => undefined

const NOTHING_ASKED: ModelFailure = { category: 'other', message: 'nothing was asked' }

const UNSENDABLE: ModelFailure = {
  category: 'auth',
  message:
    'the credential holds characters that no HTTP header can carry: was it copied whole, and nothing else with it?',
}

/** There is nothing to send that would be accepted; where the source could not tell for now, it may later. */
const refusalOf = (error: unknown): ModelFailure => ({
  category: isFailure(error, 'unavailable') || isFailure(error, 'upstream_error') ? 'retryable' : 'auth',
  message: messageOf(error).slice(0, MAX_ERROR_CHARS),
})
