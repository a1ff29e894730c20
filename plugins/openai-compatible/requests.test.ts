import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest } from '#contracts/model/client'
import { type ModelTraits, QUIRKS, type WireOptions } from '#contracts/model/provider'
import type { Message } from '#contracts/run/message'
import { CHAT_WIRE } from '#test/kit/chat-wire'
import { stream } from '#test/kit/model-stream'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { connectionsForTest, RESPONSES_TRAITS } from '#test/kit/openai-connections'
import { RESPONSES_WIRE } from '#test/kit/responses-wire'
import { BodyWriter } from './body-writer.js'
import { chatForm } from './chat-body.js'
import { parseEndpoint } from './endpoint.js'

const connections = connectionsForTest()
afterEach(() => connections.close())

const answering = (options: Partial<WireOptions> = {}) =>
  connections.before((call, response) => {
    const wire = call.path.includes(RESPONSES_WIRE.path) ? RESPONSES_WIRE : CHAT_WIRE
    stream(response).end(wire.frames({ text: 'ok' }).join(''))
  }, options)

/** What the server got for these requests. */
async function sent(options: Partial<WireOptions>, ...requests: Partial<ModelRequest>[]) {
  const { connection, server } = await answering(options)
  for (const request of requests) await playTurn(connection, { request: modelRequest(request) })
  return server.calls
}

const MESSAGES: readonly Message[] = [
  { role: 'user', content: 'look', blocks: [{ type: 'image', media_type: 'image/png', data: 'QUJD' }] },
  { role: 'assistant', content: '', reasoning: 'hm', tool_calls: [{ id: 'c1', name: 'ls', arguments: '' }] },
  { role: 'tool', content: 'a.txt', tool_call_id: 'c1', name: 'ls' },
  { role: 'system', content: 'what was before', name: 'compact_summary' },
  { role: 'assistant', content: 'one file', reasoning: 'ah' },
]
const TOOLS = [{ name: 'ls', description: 'lists', parameters: { type: 'object', properties: {} } }]
const TRAILING: readonly Message[] = [{ role: 'system', content: 'now', name: 'clock' }]
const WHOLE = { messages: MESSAGES, tools: TOOLS, trailing: TRAILING, reasoningEffort: 'low', maxOutputTokens: 9 }
const traits = (api: ModelTraits['api'], ...quirks: string[]) => ({ traits: () => ({ api, quirks: new Set(quirks) }) })

describe('chat completions', () => {
  const messages = [
    { role: 'system', content: 'be brief' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'ls', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'a.txt' },
    { role: 'system', content: 'what was before' },
    { role: 'assistant', content: 'one file' },
    { role: 'system', content: 'now' },
  ]
  const body = {
    model: 'scripted',
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: 'low',
    tools: [{ type: 'function', function: TOOLS[0] }],
    tool_choice: 'auto',
    messages,
  }

  test('the whole request, with the key', async () => {
    const [call] = await sent({}, WHOLE)
    expect(call?.path).toBe('/v1/chat/completions')
    expect(call?.headers).toMatchObject({ authorization: 'Bearer sk-test', 'content-type': 'application/json' })
    expect(call?.body).toEqual(body)
  })

  test('without tools and system prompt none is mentioned', async () => {
    const calls = await sent(traits('', QUIRKS.noParallelToolCalls), { system: '' })
    expect(calls[0]?.body).toEqual({
      model: 'scripted',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'hello' }],
    })
  })

  test('one call at a time is asked for where the model can do no other', async () => {
    const [call] = await sent(traits('', QUIRKS.noParallelToolCalls), WHOLE)
    expect(call?.body).toEqual({ ...body, parallel_tool_calls: false })
  })

  test('stored thinking goes back where it is wanted', async () => {
    const [call] = await sent(traits('', QUIRKS.reasoningPassback), WHOLE)
    const thinking = (text: string) => ({
      reasoning_content: text,
      reasoning_details: [{ type: 'reasoning.text', text }],
    })
    expect(call?.body).toEqual({
      ...body,
      messages: messages
        .with(2, { ...messages[2]!, ...thinking('hm') })
        .with(5, { ...messages[5]!, ...thinking('ah') }),
    })
  })
})

describe('responses', () => {
  const body = {
    model: 'scripted',
    stream: true,
    store: false,
    reasoning: { effort: 'low' },
    include: ['reasoning.encrypted_content'],
    instructions: 'be brief',
    tools: [{ type: 'function', ...TOOLS[0], strict: false }],
    tool_choice: 'auto',
    input: [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: 'data:image/png;base64,QUJD', detail: 'auto' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'ls', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'a.txt' },
      { type: 'message', role: 'developer', content: 'what was before' },
      { type: 'message', role: 'assistant', content: 'one file' },
      { type: 'message', role: 'developer', content: 'now' },
    ],
  }

  test('the whole request, with the key', async () => {
    const [call] = await sent(traits('responses'), WHOLE)
    expect(call?.path).toBe('/v1/responses')
    expect(call?.headers).toMatchObject({ authorization: 'Bearer sk-test', 'content-type': 'application/json' })
    expect(call?.body).toEqual(body)
  })

  test('without tools, system prompt and effort none is mentioned', async () => {
    const empty: Message = { role: 'assistant', content: '' }
    const [call] = await sent(traits('responses', QUIRKS.noParallelToolCalls), {
      system: '',
      messages: [empty, { role: 'user', content: 'hello' }, empty],
    })
    expect(call?.body).toEqual({
      model: 'scripted',
      stream: true,
      store: false,
      input: [{ type: 'message', role: 'user', content: 'hello' }],
    })
  })

  test('one call at a time is asked for where the model can do no other; thinking text has no place', async () => {
    const [call] = await sent(traits('responses', ...Object.values(QUIRKS)), WHOLE)
    expect(call?.body).toEqual({ ...body, parallel_tool_calls: false })
  })
})

describe('what is serialised once', () => {
  test('a message, in its life', () => {
    let reads = 0
    const counted: Message = {
      role: 'user',
      get content() {
        reads++
        return 'hello'
      },
    }
    const writer = new BodyWriter(chatForm(false))
    const request: ModelRequest = modelRequest({ messages: [counted] })
    const wish = { model: 'm', isSerial: false }
    expect(writer.write(request, wish)).toEqual(writer.write({ ...request, step: 2 }, wish))
    expect(reads).toBe(1)
  })

  test('models of other traits share messages, tools and prompt, but no bytes', async () => {
    const kinds: Record<string, ModelTraits> = {
      plain: { api: '', quirks: new Set() },
      passback: { api: '', quirks: new Set([QUIRKS.reasoningPassback]) },
      serial: { api: '', quirks: new Set([QUIRKS.noParallelToolCalls]) },
      responses: RESPONSES_TRAITS(),
    }
    const models = Object.keys(kinds)
    const mixed = [...models, ...models.toReversed(), ...models]
    const together = await sent({ traits: model => kinds[model]! }, ...mixed.map(model => ({ ...WHOLE, model })))
    for (const model of models) {
      const [alone] = await sent({ traits: () => kinds[model]! }, { ...WHOLE, model })
      const shared = together.filter(({ body }) => body?.model === model).map(({ bodyText }) => bodyText)
      expect(shared).toEqual(Array(3).fill(alone?.bodyText))
    }
    expect(new Set(together.map(({ bodyText }) => bodyText)).size).toBe(models.length)
  })
})

describe('where requests go', () => {
  test.each([
    ['http://localhost:8000', 'http://localhost:8000', '/v1'],
    ['http://localhost:8000/', 'http://localhost:8000', '/v1'],
    ['http://localhost:8000/v1/', 'http://localhost:8000', '/v1'],
    ['https://x.example/api', 'https://x.example', '/api'],
    ['https://x.example/v1beta/openai', 'https://x.example', '/v1beta/openai'],
    ['https://chatgpt.com/backend-api/codex', 'https://chatgpt.com', '/backend-api/codex'],
    ['https://x.example:444/v2?api-version=1', 'https://x.example:444', '/v2', '?api-version=1'],
  ])('%s', (baseUrl, origin, root, query = '') => {
    expect(parseEndpoint(baseUrl, 'it')).toEqual({
      origin,
      host: new URL(origin).host,
      chatPath: `${root}/chat/completions${query}`,
      responsesPath: `${root}/responses${query}`,
      modelsPath: `${root}/models${query}`,
    })
  })

  test.each(['localhost:8000', 'ftp://x', 'nonsense', 'https://user:secret@x.example/v1'])('%s is refused', baseUrl => {
    expect(() => parseEndpoint(baseUrl, 'OPENAI_BASE_URL')).toThrow(/OPENAI_BASE_URL/)
    expect(() => parseEndpoint(baseUrl, 'OPENAI_BASE_URL')).not.toThrow(/secret/)
  })

  test('each API has its path', async () => {
    const { connection, server } = await answering({
      traits: model => ({ api: model === 'r' ? 'responses' : '', quirks: new Set() }),
    })
    for (const model of ['c', 'r']) await playTurn(connection, { request: modelRequest({ model }) })
    await connection.fetchModels(new AbortController().signal)
    expect(server.calls.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/responses', '/v1/models'])
  })
})
