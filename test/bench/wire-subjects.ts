import { setMaxListeners } from 'node:events'
import type OpenAI from 'openai'
import { Agent, request } from 'undici'
import type { ModelOutcome } from '#contracts/model/client'
import type { ModelTraits } from '#contracts/model/provider'
import { AnswerDraft } from '#contracts/model/wire/answer-draft'
import { Exchange } from '#contracts/model/wire/exchange'
import { StreamedBody } from '#contracts/model/wire/response-body'
import { modelRequest } from '#test/kit/model-turn'
import { BodyWriter } from '../../plugins/openai-compatible/body-writer.js'
import { chatForm } from '../../plugins/openai-compatible/chat-body.js'
import { ChatReader } from '../../plugins/openai-compatible/chat-reader.js'
import { OpenAiConnection } from '../../plugins/openai-compatible/connection.js'
import { responsesForm } from '../../plugins/openai-compatible/responses-body.js'

/** Asks for one turn and answers how much text came. */
export type Turn = () => Promise<number>
export type Api = ModelTraits['api']

const TOOLS = ['echo', 'bash'].map(name => ({
  name,
  description: name,
  parameters: { type: 'object', properties: {} },
}))
/** What every subject asks. */
export const REQUEST = modelRequest({ tools: TOOLS })
export const SINK = { part() {}, drained: () => undefined }
export const NEVER = new AbortController().signal
const LIMITS = { maxAnswerChars: 2 ** 25, maxToolCalls: 128 }

setMaxListeners(0, NEVER)

const pathOf = (api: Api) => (api === 'responses' ? '/v1/responses' : '/v1/chat/completions')
const writerOf = (api: Api) => new BodyWriter(api === 'responses' ? responsesForm(() => undefined) : chatForm(false))

/** The least one can do: no bounds, no errors, no abort. */
export function rawUndici(origin: string, api: Api): Turn {
  const dispatcher = new Agent({ pipelining: 1 })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer x' }
  return async () => {
    const body = writerOf(api).write(REQUEST, { model: REQUEST.model, isSerial: false })
    const response = await request(`${origin}${pathOf(api)}`, { method: 'POST', dispatcher, headers, body })
    response.body.setEncoding('utf8')
    let text = ''
    let tail = ''
    for await (const piece of response.body) {
      const events = (tail + piece).split('\n\n')
      tail = events.pop() ?? ''
      for (const event of events) {
        const data = event.slice(event.indexOf('data: ') + 6)
        if (data === '[DONE]') continue
        const chunk = JSON.parse(data)
        if (api === '') text += chunk.choices[0]?.delta.content ?? ''
        else if (chunk.type === 'response.output_text.delta') text += chunk.delta
      }
    }
    return text.length
  }
}

/** The vendor's package, request and stream. */
export function wholePackage(client: OpenAI, api: Api): Turn {
  return api === 'responses' ? () => packageResponses(client) : () => packageChat(client)
}

async function packageChat(client: OpenAI): Promise<number> {
  let text = ''
  const stream = await client.chat.completions.create({
    model: 'scripted',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hello' },
    ],
    tools: TOOLS.map(tool => ({ type: 'function', function: tool })),
  })
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  return text.length
}

async function packageResponses(client: OpenAI): Promise<number> {
  let text = ''
  const stream = await client.responses.create({
    model: 'scripted',
    stream: true,
    store: false,
    instructions: 'be brief',
    input: 'hello',
    tools: TOOLS.map(tool => ({ type: 'function', strict: false, ...tool })),
  })
  for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
  return text.length
}

/**
 * The package builds and sends the request, its body ready made, over a `fetch` that is our exchange; our reader reads.
 * The cheapest use of the package that still is one.
 */
export function packageSendsWeRead(OpenAi: typeof OpenAI, origin: string): Turn {
  const agent = new Agent({ pipelining: 1 })
  const writer = writerOf('')
  const { host } = new URL(origin)
  interface Started extends RequestInit {
    readonly exchange: Exchange<ModelOutcome>
    readonly headersCame: Promise<Response>
  }
  const fetchOverExchange = (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { exchange, headersCame, method = 'POST', headers, body } = init as Started
    const target = new URL(String(url))
    const list: string[] = []
    for (const [name, value] of headers as Headers) list.push(name, value)
    agent.dispatch(
      { origin: target.origin, path: target.pathname, method: method as 'POST', headers: list, body: body as Buffer },
      exchange,
    )
    return headersCame
  }
  const client = new OpenAi({
    baseURL: `${origin}/v1`,
    apiKey: 'x',
    maxRetries: 0,
    logLevel: 'off',
    fetch: fetchOverExchange,
  })
  const response = new Response(null)
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  return async () => {
    let begin = (_: Response): void => {}
    const headersCame = new Promise<Response>(resolve => {
      begin = resolve
    })
    const open = () => {
      begin(response)
      return new StreamedBody(host, new ChatReader(new AnswerDraft(host, LIMITS, SINK, []), 'x'), 2 ** 22)
    }
    const exchange = new Exchange<ModelOutcome>(host, open, SINK.drained, NEVER)
    const body = writer.write(REQUEST, { model: REQUEST.model, isSerial: false })
    const fetchOptions = { exchange, headersCame } as object
    // A signal of its own: the package leaves a listener on it for good.
    await client
      .post('/chat/completions', { body, headers, signal: new AbortController().signal, maxRetries: 0, fetchOptions })
      .asResponse()
    return lengthOf(await exchange.outcome)
  }
}

export function ours(origin: string, api: Api, model = 'scripted'): Turn {
  const connection = new OpenAiConnection(
    {
      provider: 'openai',
      baseUrl: origin,
      credential: () => ({ secret: 'x' }),
      headers: {},
      modelPrefix: '',
      traits: () => ({ api, quirks: new Set() }),
    },
    { idleMs: 120_000, headersMs: 600_000, connectMs: 30_000 },
  )
  return async () => lengthOf(await connection.answer({ ...REQUEST, model }, SINK, NEVER))
}

export function lengthOf(outcome: ModelOutcome): number {
  if (outcome.kind === 'failed') throw new Error(outcome.failure.message)
  return outcome.text.length
}
