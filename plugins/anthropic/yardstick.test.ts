import Anthropic from '@anthropic-ai/sdk'
import { afterEach, describe, expect, test } from 'vitest'
import type { ModelConnection } from '#contracts/model/provider'
import type { Message } from '#contracts/run/message'
import { messagesEvent as event, MESSAGES_WIRE } from '#test/kit/messages-wire'
import { type ModelServer, startModelServer } from '#test/kit/model-server'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { messagesWire } from './messages-wire.js'

const undos: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

/** Ours and the vendor's package, before a server that sends both the same bytes. */
async function both(
  frames: readonly string[],
): Promise<{ ours: ModelConnection; sdk: Anthropic; server: ModelServer }> {
  const server = await startModelServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames.join(''))
  })
  undos.push(() => server.close())
  const ours = messagesWire({ idleMs: 5000, headersMs: 5000, connectMs: 5000 }).open({
    provider: 'anthropic',
    baseUrl: server.origin,
    credential: () => ({ secret: 'sk-ant-test' }),
    headers: {},
    modelPrefix: '',
    traits: () => ({ api: '', quirks: new Set(), maxOutputTokens: 500 }),
  })
  undos.push(() => ours.close())
  return { ours, sdk: new Anthropic({ apiKey: 'sk-ant-test', baseURL: server.origin, maxRetries: 0 }), server }
}

const PLAIN: Anthropic.MessageCreateParamsNonStreaming = {
  model: 'scripted',
  max_tokens: 500,
  messages: [{ role: 'user', content: 'hi' }],
}

describe("the vendor's package reads the same bytes the same way", () => {
  const [manyUsage] = (MESSAGES_WIRE.usageForms ?? []).filter(({ name }) => name.includes('grew'))
  test.each([
    ['text', MESSAGES_WIRE.frames({ thinking: 'hm', chunks: ['añ', '🎈', '\n\ndata: x'] })],
    [
      'calls',
      MESSAGES_WIRE.frames({
        text: 'on it',
        toolCalls: [
          { id: 'toolu_1', name: 'read', arguments: { path: 'ä/🎈', deep: [1, null, { x: '\u2028"\\' }] } },
          { id: 'toolu_2', name: 'noop', arguments: {} },
        ],
        usage: { prompt: 1000, completion: 77, cached: 600, cacheWritten: 300 },
      }),
    ],
    ['usage that grows', manyUsage?.frames ?? []],
    ['an answer without usage details', MESSAGES_WIRE.frames({ text: 'x', usage: { prompt: 3, completion: 1 } })],
    ['a refusal', MESSAGES_WIRE.frames({ text: 'no', finish: 'refusal' })],
  ])('%s', async (_, frames) => {
    const { ours, sdk } = await both(frames)
    const { outcome } = await playTurn(ours)
    const theirs = await sdk.messages.stream(PLAIN).finalMessage()
    if (outcome.kind !== 'answered') throw new Error(outcome.failure.message)
    const { content, usage } = theirs
    expect(outcome.text).toBe(content.map(block => (block.type === 'text' ? block.text : '')).join(''))
    expect(outcome.reasoning ?? '').toBe(
      content.map(block => (block.type === 'thinking' ? block.thinking : '')).join(''),
    )
    expect(outcome.toolCalls.map(call => ({ ...call, arguments: JSON.parse(call.arguments) }))).toEqual(
      content.flatMap(block =>
        block.type === 'tool_use' ? [{ id: block.id, name: block.name, arguments: block.input }] : [],
      ),
    )
    const cached = usage.cache_read_input_tokens ?? 0
    const written = usage.cache_creation_input_tokens ?? 0
    expect(outcome.usage).toMatchObject({
      prompt_tokens: usage.input_tokens + cached + written,
      completion_tokens: usage.output_tokens,
    })
    expect([outcome.usage?.cached_prompt_tokens ?? 0, outcome.usage?.cache_write_prompt_tokens ?? 0]).toEqual([
      cached,
      written,
    ])
    expect(outcome.modelVersion).toBe(theirs.model)
  })

  test.each([
    ['cut off', MESSAGES_WIRE.frames({ chunks: ['a', 'b'] }).slice(0, -1)],
    [
      'an error',
      [
        MESSAGES_WIRE.frames({ chunks: ['a'] })[0]!,
        event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
      ],
    ],
    ['a garbled event', [MESSAGES_WIRE.frames({ chunks: ['a'] })[0]!, MESSAGES_WIRE.malformedFrame]],
  ])('what is no answer for one is none for the other: %s', async (_, frames) => {
    const { ours, sdk } = await both(frames)
    sdk.logLevel = 'off'
    expect((await playTurn(ours)).outcome.kind).toBe('failed')
    await expect(sdk.messages.stream(PLAIN).finalMessage()).rejects.toThrow()
  })
})

test('for the same request both send the same body to the same path', async () => {
  const { ours, sdk, server } = await both(MESSAGES_WIRE.frames({ text: 'ok' }))
  const parameters = { type: 'object' as const, properties: { path: { type: 'string' } }, required: ['path'] }
  const cache_control = { type: 'ephemeral' as const }
  const messages: Message[] = [
    { role: 'user', content: 'look', blocks: [{ type: 'image', media_type: 'image/jpeg', data: 'QUJD' }] },
    {
      role: 'assistant',
      content: 'I look.',
      reasoning: 'is not sent back',
      tool_calls: [
        { id: 'toolu_1', name: 'read', arguments: '{"path": "a"}' },
        { id: 'toolu_2', name: 'read', arguments: '{"path": "b"}' },
      ],
    },
    { role: 'tool', content: 'A', tool_call_id: 'toolu_1', name: 'read' },
    { role: 'tool', content: '{"error":"no such file"}', tool_call_id: 'toolu_2', name: 'read' },
  ]
  await playTurn(ours, {
    request: modelRequest({
      messages,
      tools: [{ name: 'read', description: 'reads', parameters }],
      trailing: [{ role: 'system', content: 'it is noon' }],
      reasoningEffort: 'high',
    }),
  })
  await sdk.messages
    .stream({
      model: 'scripted',
      max_tokens: 500,
      system: [{ type: 'text', text: 'be brief', cache_control }],
      tools: [{ name: 'read', description: 'reads', input_schema: parameters, cache_control }],
      tool_choice: { type: 'auto' },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'QUJD' } },
            { type: 'text', text: 'look', cache_control },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } },
            { type: 'tool_use', id: 'toolu_2', name: 'read', input: { path: 'b' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'A' },
            {
              type: 'tool_result',
              tool_use_id: 'toolu_2',
              content: '{"error":"no such file"}',
              is_error: true,
              cache_control,
            },
            { type: 'text', text: '<system>\nit is noon\n</system>' },
          ],
        },
      ],
    })
    .finalMessage()
  const [mine, theirs] = server.calls
  expect(mine?.body).toEqual(theirs?.body)
  expect(mine?.path).toBe(theirs?.path)
  expect(mine?.headers['content-type']).toBe(theirs?.headers['content-type'])
})
