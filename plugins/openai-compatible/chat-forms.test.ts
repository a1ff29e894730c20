import { afterEach, describe, expect, test } from 'vitest'
import type { Message } from '#contracts/run/message'
import { chatDelta, chatFrame } from '#test/kit/chat-wire'
import type { Respond } from '#test/kit/model-server'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { connectionsForTest } from '#test/kit/openai-connections'

const connections = connectionsForTest()
afterEach(() => connections.close())

const raw = async (respond: Respond, limits = {}) => (await connections.before(respond, {}, limits)).connection

const sse = (...frames: string[]) =>
  raw((_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames.join('')))

const STOP = `${chatDelta({}, 'stop')}data: [DONE]\n\n`

describe('forms of answers', () => {
  test('a stated cost is taken over; nonsense is not', async () => {
    const usage = { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50, cost: 0.0125 }
    const { outcome } = await playTurn(await sse(chatFrame({ usage }), STOP))
    expect(outcome).toMatchObject({
      costUsd: 0.0125,
      usage: { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 },
    })
    const odd = await playTurn(
      await sse(chatFrame({ usage: { prompt_tokens: -1, total_tokens: 'many', cost: 'x' } }), STOP),
    )
    expect(odd.outcome).not.toHaveProperty('usage')
    expect(odd.outcome).not.toHaveProperty('costUsd')
  })

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'tool_calls'],
    ['function_call', 'tool_calls'],
    ['content_filter', 'content_filter'],
    ['insufficient_system_resource', 'other'],
  ])('finish reason %s', async (wire, finish) => {
    expect((await playTurn(await sse(chatDelta({}, wire)))).outcome).toMatchObject({ kind: 'answered', finish })
  })

  test('the end mark alone ends an answer, also while the server keeps the connection open', async () => {
    const client = await raw((_, response) => {
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(`${chatDelta({ content: 'a' })}data: [DONE]\n\n`)
    })
    expect((await playTurn(client)).outcome).toMatchObject({ kind: 'answered', text: 'a', finish: '' })
  })

  test('thinking in each of its fields, once', async () => {
    const { thinking, text } = await playTurn(
      await sse(
        chatDelta({ reasoning_content: 'a' }),
        chatDelta({ reasoning: 'b', reasoning_details: [{ type: 'reasoning.text', text: 'b' }] }),
        chatDelta({ reasoning: 'c' }),
        chatDelta({ content: [{ type: 'text', text: 'd' }] }),
        STOP,
      ),
    )
    expect({ thinking, text }).toEqual({ thinking: 'abc', text: 'd' })
  })

  const fn = (name: string, args: unknown) => ({ function: { name, arguments: args } })
  test.each([
    [
      'no index, whole calls',
      [
        {
          tool_calls: [
            { id: 'a', ...fn('ls', '{"n":1}') },
            { id: 'b', ...fn('ls', '{"n":2}') },
          ],
        },
      ],
    ],
    [
      'no index, no id',
      [
        { tool_calls: [fn('ls', '{"n"')] },
        { tool_calls: [{ function: { arguments: ':1}' } }] },
        { tool_calls: [fn('ls', '{"n":2}')] },
      ],
    ],
    [
      'no index, id on each fragment',
      [
        { tool_calls: [{ id: 'a', ...fn('ls', '{"n"') }] },
        { tool_calls: [{ id: 'b', ...fn('ls', '{"n":2}') }] },
        { tool_calls: [{ id: 'a', function: { arguments: ':1}' } }] },
      ],
    ],
    [
      'one index for all',
      [
        { tool_calls: [{ index: 0, id: 'a', ...fn('ls', '{"n":1}') }] },
        { tool_calls: [{ index: 0, id: 'b', ...fn('ls', '{"n":2}') }] },
      ],
    ],
    [
      'index, name before id',
      [
        { tool_calls: [{ index: 0, ...fn('ls', '') }] },
        {
          tool_calls: [
            { index: 0, id: 'late', function: { arguments: '{"n":1}' } },
            { index: 1, ...fn('ls', '{"n":2}') },
          ],
        },
      ],
    ],
    [
      'id before name',
      [
        { tool_calls: [{ index: 0, id: 'a', function: { arguments: '{"n"' } }] },
        {
          tool_calls: [
            { index: 0, ...fn('ls', ':1}') },
            { index: 5, id: 'b', ...fn('ls', '{"n":2}') },
          ],
        },
      ],
    ],
    [
      'arguments as objects',
      [
        {
          tool_calls: [
            { index: 0, ...fn('ls', { n: 1 }) },
            { index: 1, ...fn('ls', { n: 2 }) },
          ],
        },
      ],
    ],
  ])('tool calls: %s', async (_, deltas) => {
    const { outcome, calls } = await playTurn(
      await sse(...deltas.map(delta => chatDelta(delta)), chatDelta({}, 'tool_calls')),
    )
    const list = outcome.kind === 'answered' ? outcome.toolCalls : []
    expect(list.map(({ name, arguments: args }) => [name, args])).toEqual([
      ['ls', '{"n":1}'],
      ['ls', '{"n":2}'],
    ])
    expect(new Set(list.map(call => call.id)).size).toBe(2)
    expect(list.every(call => call.id !== '')).toBe(true)
    expect(calls).toEqual(list)
  })

  test('an id that the transcript already holds gets a new one', async () => {
    const client = await sse(chatDelta({ tool_calls: [{ index: 0, id: 'call_0', ...fn('ls', '{}') }] }, 'tool_calls'))
    const earlier: Message = {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'call_0', name: 'ls', arguments: '{}' }],
    }
    const { outcome } = await playTurn(client, { request: modelRequest({ messages: [earlier] }) })
    expect(outcome.kind === 'answered' && outcome.toolCalls[0]?.id).not.toBe('call_0')
  })

  test.each(['application/json', 'text/plain'])('a server that does not stream is understood (%s)', async type => {
    const message = {
      role: 'assistant',
      content: 'whole',
      tool_calls: [{ id: 'a', type: 'function', ...fn('ls', '{}') }],
    }
    const body = {
      model: 'm-1',
      choices: [{ message, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    }
    const client = await raw(
      (_, response) => void response.writeHead(200, { 'content-type': type }).end(JSON.stringify(body, null, 1)),
    )
    const { outcome, text } = await playTurn(client)
    expect(text).toBe('whole')
    expect(outcome).toMatchObject({
      text: 'whole',
      toolCalls: [{ id: 'a', name: 'ls', arguments: '{}' }],
      usage: { total_tokens: 3 },
      modelVersion: 'm-1',
    })
  })
})

describe('bounds and refusals', () => {
  test.each([
    ['an event without end', { maxEventChars: 1000 }, `data: ${'x'.repeat(5000)}`, /event of more than 1000/],
    ['an event of many lines', { maxEventChars: 1000 }, 'data: xxxxxxxx\n'.repeat(500), /event of more than 1000/],
    [
      'an answer without end',
      { maxAnswerChars: 1000 },
      chatDelta({ content: 'x'.repeat(90) }).repeat(20),
      /longer than 1000/,
    ],
    [
      'tool calls without end',
      {},
      Array.from({ length: 200 }, (_, index) =>
        chatDelta({ tool_calls: [{ index, ...{ function: { name: 'ls', arguments: '{}' } } }] }),
      ).join(''),
      /more than 128 tool calls/,
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

  test.each([
    [{ message: 'busy', code: 503 }, 'retryable'],
    [{ message: 'busy', type: 'server_error' }, 'retryable'],
    [{ message: 'prompt is too long' }, 'context_length'],
    ['just words', 'other'],
  ])('an error inside the stream: %j', async (error, category) => {
    const { outcome } = await playTurn(await sse(chatDelta({ content: 'a' }), chatFrame({ error })))
    expect(outcome).toMatchObject({ kind: 'failed', failure: { category } })
  })

  test('a web page and a whole answer without choices are not answers', async () => {
    const page = await raw((_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
    expect((await playTurn(page)).outcome).toMatchObject({ failure: { message: expect.stringContaining('base URL') } })
    const empty = await raw(
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    )
    expect((await playTurn(empty)).outcome).toMatchObject({
      failure: { message: expect.stringContaining('no choices') },
    })
  })

  test.each([
    [{ 'retry-after-ms': '1500' }, 1500],
    [{ 'retry-after-ms': '1500', 'retry-after': '2' }, 1500],
    [{ 'retry-after-ms': 'soon', 'retry-after': '2' }, 2000],
    [{ 'retry-after-ms': 'soon' }, undefined],
    [{ 'retry-after-ms': '9999999' }, 30_000],
  ])('the wait a server asks for: %j', async (headers, waitMs) => {
    const client = await raw((_, response) => void response.writeHead(429, headers).end('slow down'))
    const { outcome } = await playTurn(client)
    expect(outcome.kind === 'failed' && outcome.failure.retryAfterMs).toBe(waitMs)
  })
})
