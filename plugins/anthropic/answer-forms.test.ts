import { afterEach, describe, expect, test } from 'vitest'
import { HTTP_LIMITS } from '#contracts/model/wire/http-connection'
import type { Message } from '#contracts/run/message'
import { messagesEvent as event, MESSAGES_WIRE } from '#test/kit/messages-wire'
import { type Respond, startModelServer } from '#test/kit/model-server'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { messagesWire } from './messages-wire.js'

const undos: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

async function raw(respond: Respond, limits: Partial<typeof HTTP_LIMITS> = {}) {
  const server = await startModelServer(respond)
  undos.push(() => server.close())
  const wire = messagesWire({ idleMs: 5000, headersMs: 5000, connectMs: 5000 }, { ...HTTP_LIMITS, ...limits })
  const client = wire.open({
    provider: 'anthropic',
    baseUrl: server.origin,
    credential: () => ({ secret: 'sk-ant-test' }),
    headers: {},
    modelPrefix: '',
    traits: () => ({ api: '', quirks: new Set() }),
  })
  undos.push(() => client.close())
  return client
}

const sse = (...frames: string[]) =>
  raw((_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames.join('')))

const start = (index: number, content_block: object) => event('content_block_start', { index, content_block })
const delta = (index: number, fields: object) => event('content_block_delta', { index, delta: fields })
const stop = (index: number) => event('content_block_stop', { index })
const end = (stop_reason: string) => event('message_delta', { delta: { stop_reason } }) + event('message_stop')
const begin = event('message_start', { message: { model: 'claude-x-1', role: 'assistant', content: [] } })

describe('forms of answers', () => {
  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'other'],
    ['something_new', 'other'],
  ])('stop reason %s', async (reason, finish) => {
    const { outcome } = await playTurn(await sse(begin, end(reason)))
    expect(outcome).toMatchObject({ kind: 'answered', finish, modelVersion: 'claude-x-1' })
  })

  test('the end of the message ends the answer, also while the server keeps the connection open', async () => {
    const client = await raw((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(begin + event('message_stop'))
    })
    expect((await playTurn(client)).outcome).toMatchObject({ kind: 'answered', text: '', finish: '' })
  })

  test('several blocks of text and thinking are joined in order; what is not for us is passed over', async () => {
    const { outcome, text, thinking } = await playTurn(
      await sse(
        begin,
        start(0, { type: 'thinking', thinking: 'a', signature: '' }) +
          delta(0, { type: 'thinking_delta', thinking: 'b' }),
        delta(0, { type: 'signature_delta', signature: 'x' }) + stop(0),
        start(1, { type: 'redacted_thinking', data: 'x' }) + stop(1),
        start(2, { type: 'text', text: 'one ' }) + delta(2, { type: 'text_delta', text: 'two ' }),
        delta(2, { type: 'citations_delta', citation: { type: 'page_location' } }) + stop(2),
        start(3, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
        delta(3, { type: 'input_json_delta', partial_json: '{"query":"x"}' }) + stop(3),
        start(4, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }) + stop(4),
        event('something_new', { index: 9 }) + event('ping'),
        start(5, { type: 'text', text: '' }) + delta(5, { type: 'text_delta', text: 'three' }) + stop(5),
        end('end_turn'),
      ),
    )
    expect({ text, thinking }).toEqual({ text: 'one two three', thinking: 'ab' })
    expect(outcome).toMatchObject({ text, reasoning: thinking, toolCalls: [] })
  })

  const call = (index: number, id: string, input: object = {}) =>
    start(index, { type: 'tool_use', id, name: 'ls', input })
  const piece = (index: number, partial_json: string) => delta(index, { type: 'input_json_delta', partial_json })
  test.each([
    ['in pieces', [call(0, 'a'), piece(0, ''), piece(0, '{"n"'), piece(0, ':1}'), stop(0)]],
    ['in turns with another', [call(0, 'a'), call(1, 'b'), piece(1, '{}'), piece(0, '{"n":'), piece(0, '1}')]],
    ['with the beginning of their block', [call(0, 'a', { n: 1 }), stop(0)]],
    ['after text, in blocks that never end', [start(0, { type: 'text', text: 'x' }), call(1, 'a', { n: 1 })]],
  ])('arguments %s', async (_, frames) => {
    const { outcome, calls } = await playTurn(await sse(begin, ...frames, end('tool_use')))
    const list = outcome.kind === 'answered' ? outcome.toolCalls : []
    expect(list[0]).toEqual({ id: 'a', name: 'ls', arguments: '{"n":1}' })
    expect(calls).toEqual(list)
  })

  test('no arguments are an empty object', async () => {
    const { outcome } = await playTurn(await sse(begin, call(0, 'a'), piece(0, ''), stop(0), end('tool_use')))
    expect(outcome).toMatchObject({ toolCalls: [{ id: 'a', name: 'ls', arguments: '{}' }] })
  })

  test('an id that the transcript already holds gets a new one', async () => {
    const client = await sse(begin, call(0, 'a', { n: 1 }), stop(0), end('tool_use'))
    const earlier: Message = { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'ls', arguments: '{}' }] }
    const { outcome } = await playTurn(client, { request: modelRequest({ messages: [earlier] }) })
    expect(outcome.kind === 'answered' && outcome.toolCalls[0]?.id).not.toBe('a')
  })

  test.each(['application/json', 'text/plain'])('a server that does not stream is understood (%s)', async type => {
    const message = {
      type: 'message',
      model: 'claude-x-1',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'x' },
        { type: 'text', text: 'whole' },
        { type: 'tool_use', id: 'a', name: 'ls', input: { n: 1 } },
        { type: 'tool_use', id: 'b', name: 'ls', input: {} },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 1, cache_read_input_tokens: 4, output_tokens: 2 },
    }
    const client = await raw(
      (_, response) => void response.writeHead(200, { 'content-type': type }).end(JSON.stringify(message, null, 1)),
    )
    const { outcome, text, thinking } = await playTurn(client)
    expect({ text, thinking }).toEqual({ text: 'whole', thinking: 'hm' })
    expect(outcome).toMatchObject({
      text: 'whole',
      toolCalls: [
        { id: 'a', name: 'ls', arguments: '{"n":1}' },
        { id: 'b', name: 'ls', arguments: '{}' },
      ],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, cached_prompt_tokens: 4 },
      modelVersion: 'claude-x-1',
      finish: 'tool_calls',
    })
  })
})

describe('errors and bounds', () => {
  test.each([
    ['overloaded_error', 'Overloaded', 529, 'retryable'],
    ['rate_limit_error', 'slow down', 429, 'retryable'],
    ['api_error', 'Internal server error', 500, 'retryable'],
    ['timeout_error', 'too slow', 504, 'other'],
    ['authentication_error', 'invalid x-api-key sk-ant-test', 401, 'auth'],
    ['permission_error', 'not for you', 403, 'auth'],
    ['billing_error', 'pay first', 402, 'other'],
    ['invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum', 400, 'context_length'],
    ['invalid_request_error', 'Output blocked by content filtering policy', 400, 'content'],
    ['invalid_request_error', 'messages.0: bad', 400, 'other'],
    ['request_too_large', 'too large', 413, 'context_length'],
  ])('%s (%s) inside the answer has the meaning of HTTP %i', async (type, message, status, category) => {
    const error = event('error', { error: { type, message } })
    const { outcome, text } = await playTurn(await sse(begin, start(0, { type: 'text', text: 'a' }), error))
    expect(outcome).toMatchObject({ kind: 'failed', failure: { category, status } })
    expect(JSON.stringify(outcome)).not.toContain('sk-ant-test')
    expect(text).toBe('a')
  })

  test('an error in a whole answer, an answer without content and a web page are no answers', async () => {
    const bodies: readonly (readonly [string, string])[] = [
      ['application/json', MESSAGES_WIRE.error('busy', 'overloaded_error')],
      ['application/json', '{"type":"message"}'],
      ['text/html', '<html>'],
    ]
    const client = await raw((_, response, index) => {
      const [type = '', body] = bodies[index] ?? []
      response.writeHead(200, { 'content-type': type }).end(body)
    })
    const failures = [await playTurn(client), await playTurn(client), await playTurn(client)].map(turn => turn.outcome)
    expect(failures).toMatchObject([
      { failure: { category: 'retryable', status: 529 } },
      { failure: { category: 'other', message: expect.stringContaining('no content') } },
      { failure: { category: 'other', message: expect.stringContaining('base URL') } },
    ])
  })

  test.each([
    ['an event without end', { maxEventChars: 1000 }, `data: ${'x'.repeat(5000)}`, /event of more than 1000/],
    [
      'an answer without end',
      { maxAnswerChars: 1000 },
      start(0, { type: 'text' }) + delta(0, { type: 'text_delta', text: 'x'.repeat(90) }).repeat(20),
      /longer than 1000/,
    ],
    [
      'arguments without end',
      { maxAnswerChars: 1000 },
      start(0, { type: 'tool_use', id: 'a', name: 'ls', input: {} }) +
        delta(0, { type: 'input_json_delta', partial_json: 'x'.repeat(90) }).repeat(20),
      /longer than 1000/,
    ],
    [
      'tool calls without end',
      {},
      Array.from({ length: 200 }, (_, index) => start(index, { type: 'tool_use', id: `i${index}`, name: 'ls' })).join(
        '',
      ),
      /more than 128 tool calls/,
    ],
    [
      'blocks without end',
      {},
      Array.from({ length: 10_100 }, (_, index) => start(index, { type: 'new' })).join(''),
      /more than 10000 blocks/,
    ],
  ])('%s is given up', async (_, limits, body, message) => {
    const client = await raw(
      (_call, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(body),
      limits,
    )
    expect((await playTurn(client)).outcome).toMatchObject({
      kind: 'failed',
      failure: { category: 'other', message: expect.stringMatching(message) },
    })
  })
})
