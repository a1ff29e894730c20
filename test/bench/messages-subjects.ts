import type Anthropic from '@anthropic-ai/sdk'
import { Agent, request } from 'undici'
import type { ModelOutcome } from '#contracts/model/client'
import { AnswerDraft } from '#contracts/model/wire/answer-draft'
import { Exchange } from '#contracts/model/wire/exchange'
import { HTTP_LIMITS } from '#contracts/model/wire/http-connection'
import { StreamedBody } from '#contracts/model/wire/response-body'
import type { Message } from '#contracts/run/message'
import { MessagesReader } from '../../plugins/anthropic/messages-reader.js'
import { messagesWire } from '../../plugins/anthropic/messages-wire.js'
import { RequestBodyWriter } from '../../plugins/anthropic/request-body.js'
import { lengthOf, NEVER, REQUEST, SINK, type Turn } from './wire-subjects.js'

const FACTS = { model: 'scripted', maxTokens: 4096, hasParallelToolCalls: true }
const HEADERS = { 'content-type': 'application/json', 'x-api-key': 'x', 'anthropic-version': '2023-06-01' }

/** The least one can do: no bounds, no errors, no abort. */
export function rawMessages(origin: string): Turn {
  const dispatcher = new Agent({ pipelining: 1 })
  return async () => {
    const body = new RequestBodyWriter().write(REQUEST, FACTS)
    const response = await request(`${origin}/v1/messages`, { method: 'POST', dispatcher, headers: HEADERS, body })
    response.body.setEncoding('utf8')
    let text = ''
    let tail = ''
    for await (const piece of response.body) {
      const events = (tail + piece).split('\n\n')
      tail = events.pop() ?? ''
      for (const event of events) {
        const data = JSON.parse(event.slice(event.indexOf('data: ') + 6))
        if (data.type === 'content_block_delta') text += data.delta.text ?? ''
      }
    }
    return text.length
  }
}

const parametersOf = (messages: readonly Message[]): Anthropic.MessageCreateParamsStreaming => ({
  model: 'scripted',
  max_tokens: 4096,
  stream: true,
  system: REQUEST.system,
  tools: REQUEST.tools.map(({ name, description }) => ({ name, description, input_schema: { type: 'object' } })),
  messages: messages.map(({ role, content }) => ({
    role: role === 'assistant' ? role : 'user',
    content: [{ type: 'text', text: content }],
  })),
})

/** The vendor's package, request and stream. */
export function wholeMessagesPackage(client: Anthropic): Turn {
  return async () => {
    let text = ''
    for await (const event of await client.messages.create(parametersOf(REQUEST.messages)))
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
    return text.length
  }
}

/**
 * The package builds and sends the request, its body ready made, over a `fetch` that is our exchange; our reader reads.
 * The cheapest use of the package that still is one.
 */
export function messagesPackageSendsWeRead(Package: typeof Anthropic, origin: string): Turn {
  const agent = new Agent({ pipelining: 1 })
  const writer = new RequestBodyWriter()
  const { host } = new URL(origin)
  interface Started extends RequestInit {
    readonly exchange: Exchange<ModelOutcome>
    readonly headersCame: Promise<Response>
  }
  const fetchOverExchange = (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { exchange, headersCame, headers, body } = init as Started
    const { origin: to, pathname } = new URL(String(url))
    const list = [...(headers as Headers)].flat()
    agent.dispatch({ origin: to, path: pathname, method: 'POST', headers: list, body: body as Buffer }, exchange)
    return headersCame
  }
  const client = new Package({
    baseURL: origin,
    apiKey: 'x',
    maxRetries: 0,
    logLevel: 'off',
    fetch: fetchOverExchange,
  })
  const response = new Response(null)
  return async () => {
    let begin = (_: Response): void => {}
    const headersCame = new Promise<Response>(resolve => {
      begin = resolve
    })
    const open = () => {
      begin(response)
      const draft = new AnswerDraft(host, HTTP_LIMITS, SINK, [])
      return new StreamedBody(host, new MessagesReader(draft, 'x'), HTTP_LIMITS.maxEventChars)
    }
    const exchange = new Exchange<ModelOutcome>(host, open, SINK.drained, NEVER)
    const body = writer.write(REQUEST, FACTS)
    const fetchOptions = { exchange, headersCame } as object
    // A signal of its own: the package may leave a listener on it for good.
    const { signal } = new AbortController()
    await client.post('/v1/messages', { body, headers: HEADERS, signal, maxRetries: 0, fetchOptions }).asResponse()
    return lengthOf(await exchange.outcome)
  }
}

export function ourMessages(origin: string, model = 'scripted'): Turn {
  const connection = messagesWire({ idleMs: 120_000, headersMs: 600_000, connectMs: 30_000 }).open({
    provider: 'anthropic',
    baseUrl: origin,
    credential: () => ({ secret: 'x' }),
    headers: {},
    modelPrefix: '',
    traits: () => ({ api: '', quirks: new Set() }),
  })
  return async () => lengthOf(await connection.answer({ ...REQUEST, model }, SINK, NEVER))
}

/** Writes the request over a stored transcript again and again: ours, and what the package does to write it. */
export function messagesBodies(messages: readonly Message[]): {
  readonly ours: () => unknown
  readonly theirs: () => unknown
} {
  const writer = new RequestBodyWriter()
  const stored = { ...REQUEST, messages }
  const parameters = parametersOf(messages)
  return { ours: () => writer.write(stored, FACTS), theirs: () => Buffer.from(JSON.stringify(parameters)) }
}
