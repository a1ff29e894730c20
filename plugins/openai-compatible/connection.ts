import type { ModelFailure, ModelOutcome, ModelRequest, ModelSink } from '#contracts/model/client'
import {
  type FetchedModels,
  type ModelConnection,
  type ModelTraits,
  QUIRKS,
  type WireOptions,
} from '#contracts/model/provider'
import { AnswerDraft, type AnswerLimits } from './answer-draft.js'
import { BodyWriter } from './body-writer.js'
import { chatForm } from './chat-body.js'
import { ChatReader } from './chat-reader.js'
import { type Endpoint, parseEndpoint } from './endpoint.js'
import type { ResponseHeaders } from './exchange.js'
import { ReasoningCarry, ReasoningTrail } from './reasoning-carry.js'
import { type Failed, GuessedBody, type ResponseBody, StreamedBody, WholeBody } from './response-body.js'
import { responsesForm } from './responses-body.js'
import { ResponsesReader } from './responses-reader.js'
import { mediaType, Transport, type TransportLimits } from './transport.js'

export interface ConnectionLimits extends TransportLimits, Partial<AnswerLimits> {
  readonly maxEventChars?: number
}

const MEBI = 1024 * 1024
const MAX_CHAT_EVENT_CHARS = 4 * MEBI
const MAX_MODELS_BYTES = 8 * MEBI

/** Chat completions and responses of one provider, streamed. Nothing is opened before the first request. */
export class OpenAiConnection implements ModelConnection {
  readonly provider: string
  private readonly endpoint: Endpoint
  private readonly transport: Transport
  private readonly answerLimits: AnswerLimits
  private readonly chat = new BodyWriter(chatForm(false))
  private readonly chatWithReasoning = new BodyWriter(chatForm(true))
  private readonly carry = new ReasoningCarry()
  private readonly responses = new BodyWriter(responsesForm(message => this.carry.itemsOf(message)))

  /** Throws a `Failure` for options that cannot be used; it calls the base URL `baseUrlName`. */
  constructor(
    private readonly options: WireOptions,
    private readonly limits: ConnectionLimits,
    baseUrlName = `the base URL of provider ${options.provider}`,
  ) {
    const { maxAnswerChars = 32 * MEBI, maxToolCalls = 128 } = limits
    this.provider = options.provider
    this.endpoint = parseEndpoint(options.baseUrl, baseUrlName)
    this.transport = new Transport(this.endpoint, options, limits)
    this.answerLimits = { maxAnswerChars, maxToolCalls }
  }

  answer(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome> {
    const traits = this.options.traits(request.model)
    const isResponses = traits.api === 'responses'
    return this.transport.exchange(
      {
        method: 'POST',
        path: isResponses ? this.endpoint.responsesPath : this.endpoint.chatPath,
        body: () => this.bodyOf(request, traits),
        open: (headers, secret) => this.openAnswer(headers, secret, request, sink, isResponses),
        ...(isResponses && { refused: failure => this.withoutReasoning(failure, request) }),
        drained: () => sink.drained(),
      },
      signal,
    )
  }

  fetchModels(signal: AbortSignal): Promise<FetchedModels> {
    const { host, modelsPath } = this.endpoint
    return this.transport.exchange(
      {
        method: 'GET',
        path: modelsPath,
        open: () => new WholeBody(host, MAX_MODELS_BYTES, text => readModels(host, text)),
      },
      signal,
    )
  }

  close(): Promise<void> {
    return this.transport.close()
  }

  private bodyOf(request: ModelRequest, { api, quirks }: ModelTraits): Buffer {
    const { modelPrefix } = this.options
    const model = request.model.startsWith(modelPrefix) ? request.model : modelPrefix + request.model
    const chat = quirks.has(QUIRKS.reasoningPassback) ? this.chatWithReasoning : this.chat
    const writer = api === 'responses' ? this.responses : chat
    return writer.write(request, { model, isSerial: quirks.has(QUIRKS.noParallelToolCalls) })
  }

  private openAnswer(
    headers: ResponseHeaders,
    secret: string,
    { messages }: ModelRequest,
    sink: ModelSink,
    isResponses: boolean,
  ): ResponseBody<ModelOutcome> {
    const { host } = this.endpoint
    const draft = new AnswerDraft(host, this.answerLimits, sink, messages)
    const reader = isResponses
      ? new ResponsesReader(draft, secret, new ReasoningTrail(this.carry))
      : new ChatReader(draft, secret)
    // The last events of a response repeat all of it.
    const { maxEventChars = isResponses ? this.answerLimits.maxAnswerChars : MAX_CHAT_EVENT_CHARS } = this.limits
    const streamed = () => new StreamedBody(host, reader, maxEventChars)
    const type = mediaType(headers)
    if (type.includes('event-stream')) return streamed()
    const whole = () =>
      new WholeBody<ModelOutcome>(host, this.answerLimits.maxAnswerChars, text => {
        const failure = reader.takeWhole(text)
        return failure === undefined ? reader.finish() : { kind: 'failed', failure }
      })
    return type.includes('json') ? whole() : new GuessedBody(whole, streamed)
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

function readModels(host: string, text: string): Extract<FetchedModels, { kind: 'listed' }> | Failed {
  try {
    return { kind: 'listed', body: JSON.parse(text) }
  } catch {
    return { kind: 'failed', failure: { category: 'other', message: `the model list of ${host} is not JSON` } }
  }
}
