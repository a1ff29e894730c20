import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest } from '#contracts/model/client'
import { QUIRKS, type WireOptions } from '#contracts/model/provider'
import { MODEL_WIRES } from '#contracts/ports'
import type { Message } from '#contracts/run/message'
import { describePlugin } from '#test/kit/describe-plugin'
import { type MessagesBody, objections } from '#test/kit/messages-rules'
import { MESSAGES_WIRE } from '#test/kit/messages-wire'
import { startModelServer } from '#test/kit/model-server'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { openPlugin } from '#test/kit/open-plugin'
import { parseEndpoint } from './endpoint.js'
import { plugin } from './index.js'
import { RequestBodyWriter } from './request-body.js'

describePlugin(plugin, { dir: import.meta.dirname })

const undos: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

/** The plugin's own wire, before a server that answers `ok`. */
async function connected(options: Partial<WireOptions> = {}) {
  const opened = await openPlugin(plugin)
  undos.push(() => opened.close())
  const server = await startModelServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(MESSAGES_WIRE.frames({ text: 'ok' }).join(''))
  })
  undos.push(() => server.close())
  const [wire] = opened.items(MODEL_WIRES)
  const connection = wire!.open({
    provider: 'anthropic',
    baseUrl: `${server.origin}/v1`,
    credential: () => ({ secret: 'sk-ant-test' }),
    headers: {},
    modelPrefix: '',
    traits: () => ({ api: '', quirks: new Set() }),
    ...options,
  })
  undos.push(() => connection.close())
  return { wire: wire!, connection, server }
}

const FACTS = { model: 'claude-x', maxTokens: 100, hasParallelToolCalls: true }
const TOOLS = [{ name: 'ls', description: 'lists', parameters: { type: 'object', properties: {} } }]
const MARK = { cache_control: { type: 'ephemeral' } }

const bodyOf = (fields: Partial<ModelRequest>): MessagesBody & Readonly<Record<string, unknown>> =>
  JSON.parse(new RequestBodyWriter().write(modelRequest(fields), FACTS).toString('utf8'))

const turnsOf = (...messages: Message[]) => bodyOf({ messages }).messages

const user = (content: string): Message => ({ role: 'user', content })
const said = (content: string): Message => ({ role: 'assistant', content })
const called = (...ids: string[]): Message => ({
  role: 'assistant',
  content: '',
  tool_calls: ids.map(id => ({ id, name: 'ls', arguments: `{"of":"${id}"}` })),
})
const result = (id: string, content = `of ${id}`): Message => ({ role: 'tool', content, tool_call_id: id, name: 'ls' })
const textBlock = (text: string) => ({ type: 'text', text })
const resultBlock = (id: string, content = `of ${id}`) => ({ type: 'tool_result', tool_use_id: id, content })
const useBlock = (id: string) => ({ type: 'tool_use', id, name: 'ls', input: { of: id } })

describe('the plugin', () => {
  test('contributes one wire, for the protocol anthropic', async () => {
    expect((await connected()).wire.protocols).toEqual(['anthropic'])
  })

  test('sends to the messages endpoint with key and version', async () => {
    const { connection, server } = await connected()
    await playTurn(connection)
    expect(server.calls[0]).toMatchObject({
      path: '/v1/messages',
      headers: {
        'x-api-key': 'sk-ant-test',
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
        'accept-encoding': 'identity',
      },
    })
    expect(server.calls[0]?.headers).not.toHaveProperty('authorization')
  })

  test.each([
    [{ authorization: 'Bearer' }, 'Bearer token-1'],
    [{ Authorization: 'Bearer another' }, 'Bearer another'],
  ])('a credential with %j travels there and not as x-api-key', async (headers, authorization) => {
    const { connection, server } = await connected({ credential: () => ({ secret: 'token-1', headers }) })
    await playTurn(connection)
    expect(server.calls[0]?.headers).toMatchObject({ authorization })
    expect(server.calls[0]?.headers).not.toHaveProperty('x-api-key')
  })

  test("an entry's headers replace the plugin's", async () => {
    const { connection, server } = await connected({
      headers: { 'Anthropic-Version': '2030-01-01', 'anthropic-beta': 'x' },
    })
    await playTurn(connection)
    expect(server.calls[0]?.headers).toMatchObject({ 'anthropic-version': '2030-01-01', 'anthropic-beta': 'x' })
  })

  test('asks for a page of a thousand models', async () => {
    const { connection, server } = await connected()
    await connection.fetchModels(new AbortController().signal)
    expect(server.calls[0]?.path).toBe('/v1/models?limit=1000')
  })

  test.each([
    [{}, {}, 4096],
    [{ maxOutputTokens: 7 }, {}, 7],
    [{ maxOutputTokens: 7 }, { maxOutputTokens: 3 }, 3],
  ])('max_tokens with traits %j and request %j', async (traits, request, maxTokens) => {
    const { connection, server } = await connected({ traits: () => ({ api: '', quirks: new Set(), ...traits }) })
    await playTurn(connection, { request: modelRequest(request) })
    expect(server.calls[0]?.body?.max_tokens).toBe(maxTokens)
  })

  test('a model that takes one call at a time is told so', async () => {
    const { connection, server } = await connected({
      traits: () => ({ api: '', quirks: new Set([QUIRKS.noParallelToolCalls]) }),
    })
    await playTurn(connection, { request: modelRequest({ tools: TOOLS }) })
    expect(server.calls[0]?.body?.tool_choice).toEqual({ type: 'auto', disable_parallel_tool_use: true })
  })
})

describe('where requests go', () => {
  test.each([
    ['https://api.anthropic.com', '/v1/messages', '/v1/models?limit=1000'],
    ['https://api.anthropic.com/v1/', '/v1/messages', '/v1/models?limit=1000'],
    ['https://proxy.example/claude', '/claude/v1/messages', '/claude/v1/models?limit=1000'],
    ['https://proxy.example/v2beta/x?team=a', '/v2beta/x/messages?team=a', '/v2beta/x/models?team=a&limit=1000'],
  ])('%s', (baseUrl, messagesPath, modelsPath) => {
    expect(parseEndpoint('anthropic', baseUrl)).toMatchObject({ messagesPath, modelsPath })
  })
})

describe('how a transcript is told', () => {
  test('results of one turn stand in one message, in order, before what else was said, and errors are marked', () => {
    const list = turnsOf(
      user('go'),
      called('a', 'b', 'c'),
      result('b'),
      { role: 'user', content: 'a note of a tool', is_meta: true },
      result('a', '{"error":"no such file"}'),
      result('c', ''),
      said('done'),
      user('more'),
    )
    expect(list).toEqual([
      { role: 'user', content: [textBlock('go')] },
      { role: 'assistant', content: ['a', 'b', 'c'].map(useBlock) },
      {
        role: 'user',
        content: [
          resultBlock('b'),
          { ...resultBlock('a', '{"error":"no such file"}'), is_error: true },
          { type: 'tool_result', tool_use_id: 'c' },
          textBlock('a note of a tool'),
        ],
      },
      { role: 'assistant', content: [textBlock('done')] },
      { role: 'user', content: [textBlock('more')] },
    ])
  })

  test('one side that speaks twice has one turn; who says nothing has none', () => {
    expect(turnsOf(user('a'), said(' \n'), user(''), user('b'), said('c'), said('d'), user('e'))).toEqual([
      { role: 'user', content: [textBlock('a'), textBlock('b')] },
      { role: 'assistant', content: [textBlock('c'), textBlock('d')] },
      { role: 'user', content: [textBlock('e')] },
    ])
  })

  test('images come as base64, before the text about them', () => {
    const blocks = [{ type: 'image', media_type: 'image/png', data: 'QUJD' }] as const
    expect(turnsOf({ role: 'user', content: 'what is it?', blocks })[0]?.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
      textBlock('what is it?'),
    ])
  })

  test('a call without a result gets one that says so, and a result without its call becomes text', () => {
    const list = turnsOf(user('go'), result('gone', 'old'), called('a', 'b'), result('b'), said('so'), user('and?'))
    expect(list[0]?.content).toEqual([
      textBlock('go'),
      textBlock('<system>\nThe result of an earlier call of ls:\nold\n</system>'),
    ])
    expect(list[2]?.content).toEqual([
      resultBlock('b'),
      { ...resultBlock('a', 'no result of this call was recorded'), is_error: true },
    ])
  })

  test('a transcript that begins or ends with the assistant is given a user', () => {
    expect(turnsOf(said('hello'))).toEqual([
      { role: 'user', content: [textBlock('<system>\nThe conversation begins with the assistant.\n</system>')] },
      { role: 'assistant', content: [textBlock('hello')] },
      { role: 'user', content: [textBlock('<system>\nGo on.\n</system>')] },
    ])
  })

  test.each([
    ['{"n": 12345678901234567890,\n "s":"ü"}', '{"n": 12345678901234567890,\n "s":"ü"}'],
    ['', '{}'],
    ['{"path":"a', '{"unparsed_arguments":"{\\"path\\":\\"a"}'],
    ['[1]', '{"unparsed_arguments":"[1]"}'],
    ['{"a":"\\ud83d"}', '{"a":"\uFFFD"}'],
    ['{"a":"\\ud83c\\udf88"}', '{"a":"🎈"}'],
  ])('arguments %j are sent as %s', (text, input) => {
    const messages: Message[] = [
      user('go'),
      { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'ls', arguments: text }] },
      result('a'),
    ]
    const body = new RequestBodyWriter().write(modelRequest({ messages }), FACTS).toString('utf8')
    expect(body).toContain(`"input":${input}}`)
    expect(objections(JSON.parse(body))).toEqual([])
  })

  test('ids and names of other providers are made acceptable, the same in call and result', () => {
    const messages: Message[] = [
      user('go'),
      {
        role: 'assistant',
        content: '',
        tool_calls: ['functions.ls:0', 'functions.ls:1'].map(id => ({ id, name: 'functions.ls', arguments: '{}' })),
      },
      result('functions.ls:1'),
      result('functions.ls:0'),
    ]
    const body = bodyOf({ messages, tools: TOOLS })
    expect(objections(body)).toEqual([])
    const [first, second] = body.messages[1]!.content
    expect(first?.id).not.toBe(second?.id)
    expect(body.messages[2]!.content.map(({ tool_use_id }) => tool_use_id)).toEqual([second?.id, first?.id])
  })

  test('calls that share an id get ids of their own, and so do their results', () => {
    const { messages } = bodyOf({
      messages: [
        user('go'),
        called('a', 'a'),
        result('a', 'one'),
        result('a', 'two'),
        called('a'),
        result('a', 'three'),
      ],
      tools: TOOLS,
    })
    const told = [1, 3].flatMap(at => messages[at]!.content.map(({ id }) => id))
    const answered = [2, 4].flatMap(
      at => messages[at]!.content as readonly { tool_use_id?: string; content?: string }[],
    )
    expect(told).toEqual(['a', 'a_2', 'a_3'])
    expect(answered.map(({ tool_use_id, content }) => [tool_use_id, content])).toEqual([
      ['a', 'one'],
      ['a_2', 'two'],
      ['a_3', 'three'],
    ])
  })

  test('after calls, a request without tools says that none may be called', () => {
    const body = bodyOf({ messages: [user('go'), called('a'), result('a')] })
    expect(objections(body)).toEqual([])
    expect(body.tool_choice).toEqual({ type: 'none' })
    expect(bodyOf({})).not.toHaveProperty('tools')
  })

  test('half a character is never sent', () => {
    const body = bodyOf({
      system: 'x\ud83d',
      messages: [user('a\ud83d'), called('a'), result('a', '\udf88b')],
      tools: TOOLS,
    })
    expect(objections(body)).toEqual([])
  })

  test('any transcript becomes a request that the API takes', () => {
    const text = fc.oneof(fc.constantFrom('', ' ', '\n', '{"error":"x"}', '\ud83d', 'a'), fc.string())
    const id = fc.constantFrom('', 'a', 'b', 'c.0', 'c:0', 'toolu_1')
    const call = fc.record({ id, name: fc.constantFrom('ls', '', 'a b', 'x'.repeat(99)), arguments: text })
    const message: fc.Arbitrary<Message> = fc.oneof(
      fc.record({ role: fc.constantFrom('user', 'system', 'assistant'), content: text } as const),
      fc.record({
        role: fc.constant('assistant' as const),
        content: text,
        tool_calls: fc.array(call, { maxLength: 3 }),
      }),
      fc.record({ role: fc.constant('tool' as const), content: text, tool_call_id: id }),
    )
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 20 }),
        fc.array(
          text.map((content): Message => ({ role: 'system', content })),
          { maxLength: 3 },
        ),
        fc.boolean(),
        text,
        (messages, trailing, hasTools, system) => {
          const body = bodyOf({ messages, trailing, system, tools: hasTools ? TOOLS : [] })
          expect(objections(body)).toEqual([])
        },
      ),
      { numRuns: 1000 },
    )
  })
})

test('system prompt, tools and transcript stand where the API wants them', () => {
  const messages = [user('look'), called('c1'), result('c1')]
  const trailing: Message[] = [{ role: 'system', content: 'it is noon', is_meta: true }]
  expect(bodyOf({ messages, trailing, tools: TOOLS, reasoningEffort: 'high' })).toEqual({
    model: 'claude-x',
    max_tokens: 100,
    stream: true,
    tool_choice: { type: 'auto' },
    tools: [{ name: 'ls', description: 'lists', input_schema: { type: 'object', properties: {} }, ...MARK }],
    system: [{ ...textBlock('be brief'), ...MARK }],
    messages: [
      { role: 'user', content: [{ ...textBlock('look'), ...MARK }] },
      { role: 'assistant', content: [useBlock('c1')] },
      { role: 'user', content: [{ ...resultBlock('c1'), ...MARK }, textBlock('<system>\nit is noon\n</system>')] },
    ],
  })
})
