import type { ModelFailure, ModelRequest } from '#contracts/model/client'
import { type Credential, QUIRKS, type WireOptions } from '#contracts/model/provider'
import { HTTP_LIMITS, type HttpDialect, type HttpLimits, type TurnCall } from '#contracts/model/wire/http-connection'
import { RequestHeaders } from '#contracts/model/wire/request-headers'
import { type BodyWish, BodyWriter } from './body-writer.js'
import { chatForm } from './chat-body.js'
import { ChatReader } from './chat-reader.js'
import type { Endpoint } from './endpoint.js'
import { ReasoningCarry, ReasoningTrail } from './reasoning-carry.js'
import { responsesForm } from './responses-body.js'
import { ResponsesReader } from './responses-reader.js'

/** The words of chat completions and of responses, for one provider; the model says which. */
export class OpenAiDialect implements HttpDialect {
  readonly headers: RequestHeaders
  readonly modelsPath: string
  private readonly chat = new BodyWriter(chatForm(false))
  private readonly chatWithReasoning = new BodyWriter(chatForm(true))
  private readonly carry = new ReasoningCarry()
  private readonly responses = new BodyWriter(responsesForm(message => this.carry.itemsOf(message)))

  constructor(
    private readonly endpoint: Endpoint,
    private readonly options: Pick<WireOptions, 'provider' | 'headers' | 'modelPrefix' | 'traits'>,
    private readonly limits: Partial<HttpLimits>,
  ) {
    this.headers = new RequestHeaders(options.provider, {}, options.headers, credentialHeaders)
    this.modelsPath = endpoint.modelsPath
  }

  turn(request: ModelRequest): TurnCall {
    const { modelPrefix } = this.options
    const { api, quirks } = this.options.traits(request.model)
    const model = request.model.startsWith(modelPrefix) ? request.model : modelPrefix + request.model
    const wish = { model, isSerial: quirks.has(QUIRKS.noParallelToolCalls) }
    if (api === 'responses') return this.responsesTurn(request, wish)
    const writer = quirks.has(QUIRKS.reasoningPassback) ? this.chatWithReasoning : this.chat
    return {
      path: this.endpoint.chatPath,
      body: writer.write(request, wish),
      reader: (draft, secret) => new ChatReader(draft, secret),
    }
  }

  private responsesTurn(request: ModelRequest, wish: BodyWish): TurnCall {
    // The last events of a response repeat all of it.
    const { maxAnswerChars = HTTP_LIMITS.maxAnswerChars, maxEventChars = maxAnswerChars } = this.limits
    return {
      path: this.endpoint.responsesPath,
      body: this.responses.write(request, wish),
      maxEventChars,
      reader: (draft, secret) => new ResponsesReader(draft, secret, new ReasoningTrail(this.carry)),
      refused: failure => this.withoutReasoning(failure, request),
    }
  }

  /**
   * Reasoning that a server gave out and now refuses (another key, another model behind the name) is left out from then on:
   * the same turn may be asked again.
   */
  private withoutReasoning(failure: ModelFailure, { messages }: ModelRequest): ModelFailure {
    const isAboutReasoning = failure.category === 'other' && /encrypted|reasoning|\brs_/i.test(failure.message)
    if (!isAboutReasoning || !messages.some(message => this.carry.itemsOf(message) !== undefined)) return failure
    this.carry.forget()
    this.responses.forget()
    return { ...failure, category: 'retryable' }
  }
}

const credentialHeaders = ({ secret, headers = {} }: Credential) => ({
  ...(secret === '' ? {} : { authorization: `Bearer ${secret}` }),
  ...headers,
})
