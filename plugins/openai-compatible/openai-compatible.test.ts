import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest } from '#contracts/model/client'
import type { Message } from '#contracts/run/message'
import { type ChatScript, startChatServer } from '#test/kit/chat-server'
import { describePlugin } from '#test/kit/describe-plugin'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { ChatCompletionsClient } from './chat-client.js'
import { parseEndpoint } from './endpoint.js'
import { plugin } from './index.js'
import { RequestBodyWriter } from './request-body.js'
import { NOTHING_SET, resolveCandidates } from './resolve.js'

describePlugin(plugin, { dir: import.meta.dirname })

const undos: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

function clientOf(baseUrl: string, apiKey = 'sk-test') {
  const client = new ChatCompletionsClient('openai', {
    endpoint: parseEndpoint(baseUrl),
    apiKey,
    idleMs: 5000,
    headersMs: 5000,
    connectMs: 5000,
  })
  undos.push(() => client.close())
  return client
}

async function scripted(script: ChatScript) {
  const server = await startChatServer(script)
  undos.push(() => server.close())
  return { server, client: clientOf(server.baseUrl) }
}

describe('what is sent', () => {
  test('the whole request in the shape of chat completions, with the key', async () => {
    const { server, client } = await scripted({ turns: [{ text: 'ok' }] })
    const messages: Message[] = [
      { role: 'user', content: 'look', blocks: [{ type: 'image', media_type: 'image/png', data: 'QUJD' }] },
      { role: 'assistant', content: '', reasoning: 'hm', tool_calls: [{ id: 'c1', name: 'ls', arguments: '' }] },
      { role: 'tool', content: 'a.txt', tool_call_id: 'c1', name: 'ls' },
      { role: 'assistant', content: 'one file' },
    ]
    const tools = [{ name: 'ls', description: 'lists', parameters: { type: 'object', properties: {} } }]
    const trailing: Message[] = [{ role: 'system', content: 'now', name: 'clock' }]
    await playTurn(client, {
      request: modelRequest({ messages, tools, trailing, reasoningEffort: 'low', maxOutputTokens: 9 }),
    })
    const [call] = server.calls
    expect(call?.path).toBe('/v1/chat/completions')
    expect(call?.headers).toMatchObject({ authorization: 'Bearer sk-test', 'content-type': 'application/json' })
    expect(call?.body).toEqual({
      model: 'scripted',
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: tools[0] }],
      tool_choice: 'auto',
      messages: [
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
        { role: 'assistant', content: 'one file' },
        { role: 'system', content: 'now' },
      ],
    })
  })

  test('without tools, system prompt or key, none is mentioned', async () => {
    const { server } = await scripted({ turns: [{ text: 'ok' }] })
    const client = clientOf(server.baseUrl, '')
    await playTurn(client, { request: modelRequest({ system: '' }) })
    expect(server.calls[0]?.body).toEqual({
      model: 'scripted',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'hello' }],
    })
    expect(server.calls[0]?.headers).not.toHaveProperty('authorization')
  })

  test('a message is serialised once in its life', () => {
    let reads = 0
    const counted: Message = {
      role: 'user',
      get content() {
        reads++
        return 'hello'
      },
    }
    const writer = new RequestBodyWriter()
    const request: ModelRequest = modelRequest({ messages: [counted] })
    expect(writer.write(request)).toEqual(writer.write({ ...request, step: 2 }))
    expect(reads).toBe(1)
  })
})

describe('where requests go', () => {
  test.each([
    ['http://localhost:8000', 'http://localhost:8000', '/v1/chat/completions'],
    ['http://localhost:8000/v1/', 'http://localhost:8000', '/v1/chat/completions'],
    ['https://x.example/api', 'https://x.example', '/api/v1/chat/completions'],
    ['https://x.example/v1beta/openai', 'https://x.example', '/v1beta/openai/chat/completions'],
    ['https://x.example/v2?api-version=1', 'https://x.example', '/v2/chat/completions?api-version=1'],
  ])('%s', (baseUrl, origin, path) => {
    expect(parseEndpoint(baseUrl)).toMatchObject({ origin, path })
  })

  test.each(['localhost:8000', 'ftp://x', 'nonsense', 'https://user:secret@x.example/v1'])('%s is refused', baseUrl => {
    expect(() => parseEndpoint(baseUrl)).toThrow(/OPENAI_BASE_URL/)
    expect(() => parseEndpoint(baseUrl)).not.toThrow(/secret/)
  })
})

describe('who answers', () => {
  const client = clientOf('http://localhost:1')
  const standard = { model: 'gpt-4.1-mini', client, lacksKey: false }

  test('the default model, with its price; another model without one', () => {
    expect(resolveCandidates({}, standard)).toMatchObject([
      { provider: 'openai', model: 'gpt-4.1-mini', rates: { inputPerMillionUsd: 0.4, outputPerMillionUsd: 1.6 } },
    ])
    const [candidate] = resolveCandidates({ model: 'local/llama', provider_name: 'openai' }, standard) ?? []
    expect(candidate).toEqual({ provider: 'openai', model: 'local/llama', client })
  })

  test('another provider is none of its business', () => {
    expect(resolveCandidates({ provider_name: 'anthropic' }, { ...standard, lacksKey: true })).toBeUndefined()
  })

  test('without a key the failure names what to set', () => {
    expect(() => resolveCandidates({}, { ...standard, lacksKey: true })).toThrow(NOTHING_SET)
    for (const name of ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'SVC_PROVIDER=fake', 'SVC_FAKE_TURNS'])
      expect(NOTHING_SET).toContain(name)
  })
})

describe('at start', () => {
  const warnings = async (config: object) => {
    const said: string[] = []
    const undo: (() => void)[] = []
    const settings = {
      idleTimeoutSeconds: 1,
      headerTimeoutSeconds: 1,
      connectTimeoutSeconds: 1,
      apiKey: '',
      provider: '',
    }
    await plugin.register({
      config: { baseUrl: 'https://api.openai.com/v1', model: 'm', ...settings, ...config },
      log: { warn: (_: object, message: string) => said.push(message) },
      defer: (each: () => void) => undo.push(each),
      tap: () => {},
    } as never)
    expect(undo.length).toBe(1)
    return said
  }

  test('a missing key is said at once, unless none is needed', async () => {
    expect(await warnings({})).toEqual([NOTHING_SET])
    expect(await warnings({ apiKey: 'sk-1' })).toEqual([])
    expect(await warnings({ provider: 'fake' })).toEqual([])
    expect(await warnings({ baseUrl: 'http://127.0.0.1:8000/v1' })).toEqual([])
  })
})
