import fc from 'fast-check'
import type OpenAI from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest, ToolSpec } from '#contracts/model/client'
import type { Message } from '#contracts/run/message'
import { CHAT_WIRE } from '#test/kit/chat-wire'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { connectionsForTest } from '#test/kit/openai-connections'
import { sdkBench } from '#test/kit/openai-sdk'
import { RESPONSES_WIRE } from '#test/kit/responses-wire'

/** The vendor's own package is asked for the same, in its own types, and has to send the same. */

type Bench = Awaited<ReturnType<typeof sdkBench>>

const connections = connectionsForTest()
afterEach(() => connections.close())

const text = fc.string({ unit: 'grapheme', maxLength: 30 })
const json = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
const name = fc.stringMatching(/^[a-z][a-z_]{0,15}$/)

/** Calls and their results stand together, as a run leaves them. */
const transcripts: fc.Arbitrary<readonly Message[]> = fc
  .array(
    fc.oneof(
      fc
        .record({ content: text, images: fc.array(fc.constant('QUJD'), { maxLength: 2 }) })
        .map(({ content, images }) => [
          {
            role: 'user',
            content: images.length === 0 && content === '' ? 'go on' : content,
            ...(images.length > 0 && {
              blocks: images.map(data => ({ type: 'image', media_type: 'image/png', data }) as const),
            }),
          } satisfies Message,
        ]),
      fc.string({ unit: 'grapheme', minLength: 1 }).map(content => [{ role: 'assistant', content } satisfies Message]),
      fc.string({ minLength: 1 }).map(content => [{ role: 'system', content } satisfies Message]),
      fc
        .record({ content: text, calls: fc.array(fc.record({ name, args: json }), { minLength: 1, maxLength: 3 }) })
        .map(({ content, calls }): Message[] => [
          {
            role: 'assistant',
            content,
            tool_calls: calls.map((call, index) => ({
              ...{ id: `call_${index}`, name: call.name, arguments: JSON.stringify(call.args) },
            })),
          },
          ...calls.map((call, index): Message => ({ role: 'tool', tool_call_id: `call_${index}`, content: call.name })),
        ]),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map(groups => groups.flat())
const toolLists: fc.Arbitrary<readonly ToolSpec[]> = fc.array(
  fc.record({ name, description: text, parameters: json.map(properties => ({ type: 'object', properties })) }),
  { maxLength: 3 },
)
const wishes = fc
  .record({
    system: text,
    messages: transcripts,
    tools: toolLists,
    effort: fc.option(fc.constantFrom('low', 'high'), { nil: undefined }),
  })
  .map(({ effort, ...rest }) => modelRequest({ ...rest, ...(effort && { reasoningEffort: effort }) }))

describe('the package sends the same', () => {
  async function bodies(
    request: ModelRequest,
    bench: Bench,
    send: () => Promise<unknown>,
  ): Promise<readonly unknown[]> {
    bench.play({ turn: { text: 'ok' }, cuts: [] })
    const { outcome } = await playTurn(bench.connection, { request })
    expect(outcome.kind).toBe('answered')
    await send()
    const [ours, theirs] = bench.server.calls.slice(-2)
    expect(theirs?.path).toBe(ours?.path)
    for (const header of ['authorization', 'content-type']) expect(theirs?.headers[header]).toBe(ours?.headers[header])
    return [ours?.body, theirs?.body]
  }

  const dataUrl = (data: string) => `data:image/png;base64,${data}`
  const effortOf = ({ reasoningEffort }: ModelRequest) => reasoningEffort as 'low' | 'high' | undefined

  test('chat completions', { timeout: 60_000 }, async () => {
    const bench = await sdkBench(connections, CHAT_WIRE, '')
    const wireMessage = (message: Message): OpenAI.ChatCompletionMessageParam => {
      const { role, content, blocks = [], tool_calls = [] } = message
      if (role === 'tool') return { role, content, tool_call_id: message.tool_call_id ?? '' }
      if (role === 'assistant')
        return tool_calls.length === 0
          ? { role, content }
          : {
              role,
              content: content || null,
              tool_calls: tool_calls.map(call => ({
                ...{ id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } },
              })),
            }
      if (role === 'system' || blocks.length === 0) return { role, content }
      return {
        role,
        content: [
          ...(content === '' ? [] : [{ type: 'text' as const, text: content }]),
          ...blocks.map(({ data }) => ({ type: 'image_url' as const, image_url: { url: dataUrl(data) } })),
        ],
      }
    }
    const send = (request: ModelRequest) => async () => {
      const { system, messages, tools } = request
      const effort = effortOf(request)
      const answer = await bench.sdk.chat.completions.create({
        model: 'scripted',
        stream: true,
        stream_options: { include_usage: true },
        messages: [
          ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
          ...messages.map(wireMessage),
        ],
        ...(effort && { reasoning_effort: effort }),
        ...(tools.length > 0 && {
          tool_choice: 'auto' as const,
          tools: tools.map(each => ({
            type: 'function' as const,
            function: { ...each, parameters: { ...each.parameters } },
          })),
        }),
      })
      for await (const event of answer) expect(event).toBeDefined()
    }
    await fc.assert(
      fc.asyncProperty(wishes, async request => {
        const [ours, theirs] = await bodies(request, bench, send(request))
        expect(ours).toEqual(theirs)
      }),
      { numRuns: 100 },
    )
  })

  test('responses', { timeout: 60_000 }, async () => {
    const bench = await sdkBench(connections, RESPONSES_WIRE, 'responses')
    const items = (message: Message): ResponseInputItem[] => {
      const { role, content, blocks = [], tool_calls = [] } = message
      if (role === 'tool')
        return [{ type: 'function_call_output', call_id: message.tool_call_id ?? '', output: content }]
      if (role === 'system') return [{ type: 'message', role: 'developer', content }]
      if (role === 'assistant')
        return [
          ...(content === '' ? [] : [{ type: 'message' as const, role, content }]),
          ...tool_calls.map(call => ({
            ...{ type: 'function_call' as const, call_id: call.id, name: call.name, arguments: call.arguments },
          })),
        ]
      if (blocks.length === 0) return [{ type: 'message', role, content }]
      return [
        {
          type: 'message',
          role,
          content: [
            ...(content === '' ? [] : [{ type: 'input_text' as const, text: content }]),
            ...blocks.map(({ data }) => ({
              ...{ type: 'input_image' as const, image_url: dataUrl(data), detail: 'auto' as const },
            })),
          ],
        },
      ]
    }
    const send = (request: ModelRequest) => async () => {
      const { system, messages, tools } = request
      const effort = effortOf(request)
      const answer = await bench.sdk.responses.create({
        model: 'scripted',
        stream: true,
        store: false,
        input: messages.flatMap(items),
        ...(system !== '' && { instructions: system }),
        ...(effort && { reasoning: { effort }, include: ['reasoning.encrypted_content' as const] }),
        ...(tools.length > 0 && {
          tool_choice: 'auto' as const,
          tools: tools.map(({ name, description, parameters }) => ({
            ...{ type: 'function' as const, name, description, parameters: { ...parameters }, strict: false },
          })),
        }),
      })
      for await (const event of answer) expect(event).toBeDefined()
    }
    await fc.assert(
      fc.asyncProperty(wishes, async request => {
        const [ours, theirs] = await bodies(request, bench, send(request))
        expect(ours).toEqual(theirs)
      }),
      { numRuns: 100 },
    )
  })
})
