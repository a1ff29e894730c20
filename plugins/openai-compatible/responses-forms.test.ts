import { afterEach, describe, expect, test } from 'vitest'
import type { Respond } from '#test/kit/model-server'
import { stream } from '#test/kit/model-stream'
import { playTurn } from '#test/kit/model-turn'
import { connectionsForTest, RESPONSES_TRAITS } from '#test/kit/openai-connections'
import { RESPONSES_WIRE, responseObject, responsesFrame, responseUsage } from '#test/kit/responses-wire'

const connections = connectionsForTest()
afterEach(() => connections.close())

const raw = async (respond: Respond, limits = {}) =>
  (await connections.before(respond, { traits: RESPONSES_TRAITS }, limits)).connection
const sse = (...frames: string[]) => raw((_, response) => void stream(response).end(frames.join('')))

const event = responsesFrame
const end = (fields: object = {}, status = 'completed') =>
  event(`response.${status}`, { response: responseObject({ status, ...fields }) })
const call = (name: string, args: string, id = `call_${name}`) => ({
  ...{ id: `fc_${name}`, type: 'function_call', status: 'completed', call_id: id, name, arguments: args },
})
const message = (...content: object[]) => ({ id: 'msg_1', type: 'message', role: 'assistant', content })
const text = (words: string) => ({ type: 'output_text', text: words, annotations: [] })

describe('how answers arrive', () => {
  const output = [
    { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
    message(text('let '), text('me see')),
    call('ls', '{"n":1}'),
    call('cat', '{"n":2}'),
  ]
  const whole = {
    text: 'let me see',
    reasoning: 'hm',
    finish: 'tool_calls',
    toolCalls: [
      { id: 'call_ls', name: 'ls', arguments: '{"n":1}' },
      { id: 'call_cat', name: 'cat', arguments: '{"n":2}' },
    ],
  }

  test.each([
    [
      'as finished items only',
      [...output.map((item, output_index) => event('response.output_item.done', { output_index, item })), end()],
    ],
    ['in the last event only', [end({ output })]],
    [
      'as finished items, and once more in the last event',
      [
        ...output.map((item, output_index) => event('response.output_item.done', { output_index, item })),
        end({ output }),
      ],
    ],
    [
      'with events nobody knows',
      [
        event('response.created', { response: responseObject() }),
        event('response.web_search_call.searching', { output_index: 9, item_id: 'ws_1' }),
        event('keepalive'),
        end({ output }),
      ],
    ],
  ])('%s', async (_, frames) => {
    const turn = await playTurn(await sse(...frames))
    expect(turn.outcome).toMatchObject(whole)
    expect(turn).toMatchObject({ text: whole.text, thinking: whole.reasoning, calls: whole.toolCalls })
  })

  test.each(['application/json', 'text/plain'])('in one piece, from a server that does not stream (%s)', async type => {
    const body = responseObject({
      status: 'completed',
      model: 'm-1',
      output,
      usage: responseUsage({ prompt: 1, completion: 2 }),
    })
    const client = await raw(
      (_, response) => void response.writeHead(200, { 'content-type': type }).end(JSON.stringify(body, null, 1)),
    )
    expect((await playTurn(client)).outcome).toMatchObject({
      ...whole,
      usage: { total_tokens: 3 },
      modelVersion: 'm-1',
    })
  })

  test('arguments that only come when they are complete', async () => {
    const { outcome, calls } = await playTurn(
      await sse(
        event('response.output_item.added', { output_index: 0, item: call('ls', '') }),
        event('response.function_call_arguments.done', { output_index: 0, arguments: '{"n":1}' }),
        event('response.output_item.done', { output_index: 0, item: call('ls', '{"n":1}') }),
        end(),
      ),
    )
    expect(outcome).toMatchObject({ toolCalls: [whole.toolCalls[0]], finish: 'tool_calls' })
    expect(calls).toEqual([whole.toolCalls[0]])
  })

  test('events without an index belong together', async () => {
    const { outcome } = await playTurn(
      await sse(
        event('response.output_item.added', { item: call('ls', '') }),
        event('response.function_call_arguments.delta', { delta: '{"n"' }),
        event('response.function_call_arguments.delta', { delta: ':1}' }),
        event('response.output_item.done', { item: call('ls', '{"n":1}') }),
        end(),
      ),
    )
    expect(outcome).toMatchObject({ toolCalls: [whole.toolCalls[0]] })
  })

  test('a refusal is text, streamed or not', async () => {
    const refusal = { type: 'refusal', refusal: 'I will not.' }
    for (const frames of [
      [
        event('response.refusal.delta', { output_index: 0, delta: 'I will ' }),
        event('response.refusal.delta', { output_index: 0, delta: 'not.' }),
        end(),
      ],
      [event('response.output_item.done', { output_index: 0, item: message(refusal) }), end()],
    ])
      expect((await playTurn(await sse(...frames))).outcome).toMatchObject({ text: 'I will not.', finish: 'stop' })
  })

  test('the parts of a summary are paragraphs; raw thinking beside it is not told twice', async () => {
    const part = (summary_index: number) =>
      event('response.reasoning_summary_part.added', { output_index: 0, summary_index })
    const summary = (delta: string) => event('response.reasoning_summary_text.delta', { output_index: 0, delta })
    const rawText = (delta: string) => event('response.reasoning_text.delta', { output_index: 0, delta })
    const both = await playTurn(
      await sse(part(0), summary('a'), rawText('long a'), part(1), summary('b'), summary('c'), end()),
    )
    expect(both.outcome).toMatchObject({ reasoning: 'a\n\nbc' })
    expect(both.thinking).toBe('a\n\nbc')
    expect((await playTurn(await sse(rawText('x'), rawText('y'), end()))).outcome).toMatchObject({ reasoning: 'xy' })
  })
})

describe('how answers end', () => {
  const delta = event('response.output_text.delta', { output_index: 0, delta: 'half' })

  test.each([
    ['completed', {}, 'stop'],
    ['incomplete', { incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
    ['incomplete', { incomplete_details: { reason: 'content_filter' } }, 'content_filter'],
    ['incomplete', { incomplete_details: null }, 'other'],
  ])('%s %j', async (status, fields, finish) => {
    const usage = responseUsage({ prompt: 4, completion: 1 })
    expect((await playTurn(await sse(delta, end({ ...fields, usage }, status)))).outcome).toMatchObject({
      ...{ kind: 'answered', text: 'half', finish, usage: { prompt_tokens: 4 } },
    })
  })

  test('the completion ends an answer, also while the server keeps the connection open', async () => {
    const client = await raw((_, response) => void stream(response).write(delta + end()))
    expect((await playTurn(client)).outcome).toMatchObject({ kind: 'answered', text: 'half' })
  })

  test('a cost that the server states wins', async () => {
    const usage = { ...responseUsage({ prompt: 4, completion: 1 }), cost: 0.25 }
    expect((await playTurn(await sse(delta, end({ usage })))).outcome).toMatchObject({ costUsd: 0.25 })
  })

  test.each([
    ['nothing', ''],
    ['the mark of the other API', 'data: [DONE]\n\n'],
    ['an end of the text alone', event('response.output_text.done', { output_index: 0, text: 'half' })],
  ])('without a completion event it is broken off: %s', async (_, last) => {
    expect((await playTurn(await sse(delta, last))).outcome).toMatchObject({
      kind: 'failed',
      failure: { category: 'retryable', message: expect.stringMatching(/ended early.* completion event/) },
    })
  })

  const failing = (error: unknown) => end({ error }, 'failed')
  test.each([
    [failing({ code: 'server_error', message: 'sorry' }), 'retryable'],
    [failing({ code: 'rate_limit_exceeded', message: 'slow down' }), 'retryable'],
    [
      failing({ code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.' }),
      'context_length',
    ],
    [failing({ code: 'invalid_prompt', message: 'flagged as potentially violating our usage policy' }), 'content'],
    [failing({ code: 'invalid_image', message: 'no image' }), 'other'],
    [failing(null), 'other'],
    [event('error', { code: 'server_error', message: 'sorry', param: null }), 'retryable'],
    [event('error', { error: { type: 'server_error', message: 'sorry' } }), 'retryable'],
    [`data: ${JSON.stringify({ error: { message: 'busy', code: 503 } })}\n\n`, 'retryable'],
    [event('error', { code: null, message: 'no such thing' }), 'other'],
  ])('an error instead of an end: %s', async (last, category) => {
    const { outcome, text: shown } = await playTurn(await sse(delta, last))
    expect(outcome).toMatchObject({ kind: 'failed', failure: { category } })
    expect(shown).toBe('half')
  })

  test('a whole response that failed, or is none', async () => {
    for (const [body, message] of [
      [responseObject({ status: 'failed', error: { code: 'server_error', message: 'sorry' } }), /sorry/],
      [{ object: 'list', data: [] }, /no output/],
    ] as const) {
      const client = await raw(
        (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      )
      expect((await playTurn(client)).outcome).toMatchObject({ failure: { message: expect.stringMatching(message) } })
    }
  })
})

describe('bounds', () => {
  test.each([
    [
      'an answer without end',
      { maxAnswerChars: 1000 },
      event('response.output_text.delta', { output_index: 0, delta: 'x'.repeat(90) }).repeat(20),
      /longer than 1000/,
    ],
    [
      'items without end',
      { maxAnswerChars: 100_000 },
      Array.from({ length: 200 }, (_, output_index) =>
        event('response.output_item.done', { output_index, item: { type: 'odd' } }),
      ).join(''),
      /longer than 100000/,
    ],
    [
      'encrypted thinking without end',
      { maxAnswerChars: 100_000 },
      event('response.output_item.done', {
        output_index: 0,
        item: { type: 'reasoning', id: 'rs', encrypted_content: 'x'.repeat(9000) },
      }).repeat(20),
      /longer than 100000/,
    ],
    [
      'tool calls without end',
      {},
      Array.from({ length: 200 }, (_, output_index) =>
        event('response.output_item.added', { output_index, item: call(`t${output_index}`, '') }),
      ).join(''),
      /more than 128 tool calls/,
    ],
    ['an event without end', { maxAnswerChars: 1000 }, `data: ${'x'.repeat(5000)}`, /event of more than 1000/],
  ])('%s is given up', async (_, limits, body, words) => {
    const client = await raw((_call, response) => void stream(response).write(body), limits)
    expect((await playTurn(client)).outcome).toMatchObject({
      kind: 'failed',
      failure: { category: 'other', message: expect.stringMatching(words) },
    })
  })

  test('an answer that says everything four times is read, as long as it is one answer', async () => {
    const chunks = Array.from({ length: 600 }, () => 'x'.repeat(10_000))
    const client = await sse(...RESPONSES_WIRE.frames({ chunks }))
    expect((await playTurn(client)).outcome).toMatchObject({ kind: 'answered', text: chunks.join('') })
  })
})
