import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { ModelClient } from '#contracts/model/client'
import { CHAT_WIRE, type ScriptedTurn } from '#test/kit/chat-wire'
import { playTurn } from '#test/kit/model-turn'
import { connectionsForTest } from '#test/kit/openai-connections'
import { sdkBench } from '#test/kit/openai-sdk'
import { RESPONSES_WIRE } from '#test/kit/responses-wire'

/** The vendor's own package is given the same bytes, and has to come to the same. */

const connections = connectionsForTest()
afterEach(() => connections.close())

const text = fc.string({ unit: 'grapheme', maxLength: 30 })
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const json = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
const name = fc.stringMatching(/^[a-z][a-z_]{0,15}$/)

const scripts: fc.Arbitrary<ScriptedTurn> = fc
  .record({
    thinking: some(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })),
    chunks: some(fc.array(text, { maxLength: 12 })),
    calls: fc.array(fc.record({ name, arguments: json }), { maxLength: 4 }),
    usage: some(
      fc.record({
        prompt: fc.nat(100_000),
        completion: fc.nat(100_000),
        cached: fc.nat(100),
        cacheWritten: fc.nat(100),
        reasoning: fc.nat(100),
      }),
    ),
    isCut: fc.boolean(),
  })
  .map(({ thinking, chunks, calls, usage, isCut }) => ({
    ...(thinking === undefined ? {} : { thinking }),
    ...(chunks === undefined ? {} : { chunks }),
    toolCalls: calls.map((call, index) => ({ ...call, id: `call_${index}` })),
    usage: usage ?? null,
    ...(isCut && { finish: 'length' }),
  }))
const cuts = fc.array(fc.nat(10_000), { maxLength: 6 })

/** What both are asked for, in words of neither. */
interface Reading {
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly usage?: readonly (number | undefined)[] | undefined
  readonly isCut: boolean
  /** Where the package knows of it. */
  readonly thinking?: string
}

async function ourReading(client: ModelClient): Promise<Reading> {
  const { outcome } = await playTurn(client)
  if (outcome.kind === 'failed') throw new Error(outcome.failure.message)
  const { usage } = outcome
  return {
    text: outcome.text,
    calls: outcome.toolCalls,
    usage: usage && [
      ...[usage.prompt_tokens, usage.completion_tokens, usage.total_tokens],
      ...[usage.cached_prompt_tokens, usage.cache_write_prompt_tokens, usage.reasoning_tokens],
    ],
    isCut: outcome.finish === 'length',
  }
}

describe('the same bytes are read alike', () => {
  test('chat completions', { timeout: 60_000 }, async () => {
    const { connection, sdk, play } = await sdkBench(connections, CHAT_WIRE, '')
    const theirReading = async (): Promise<Reading> => {
      const completion = await sdk.chat.completions
        .stream({
          model: 'scripted',
          messages: [{ role: 'user', content: 'hello' }],
          stream_options: { include_usage: true },
        })
        .finalChatCompletion()
      const { message, finish_reason } = completion.choices[0]!
      const { usage } = completion
      return {
        text: message.content ?? '',
        calls: (message.tool_calls ?? []).map(call => ({
          id: call.id,
          name: call.type === 'function' ? call.function.name : '',
          arguments: call.type === 'function' ? call.function.arguments : '',
        })),
        usage: usage && [
          ...[usage.prompt_tokens, usage.completion_tokens, usage.total_tokens],
          ...[usage.prompt_tokens_details?.cached_tokens, usage.prompt_tokens_details?.cache_write_tokens],
          usage.completion_tokens_details?.reasoning_tokens,
        ],
        isCut: finish_reason === 'length',
      }
    }
    await fc.assert(
      fc.asyncProperty(scripts, cuts, async (turn, places) => {
        play({ turn, cuts: places })
        expect(await ourReading(connection)).toEqual(await theirReading())
      }),
      { numRuns: 150 },
    )
  })

  test('responses', { timeout: 60_000 }, async () => {
    const { connection, sdk, play } = await sdkBench(connections, RESPONSES_WIRE, 'responses')
    const theirReading = async (): Promise<Reading> => {
      const response = await sdk.responses.stream({ model: 'scripted', input: 'hello', store: false }).finalResponse()
      const { usage } = response
      return {
        text: response.output_text,
        calls: response.output
          .filter(item => item.type === 'function_call')
          .map(item => ({ id: item.call_id, name: item.name, arguments: item.arguments })),
        usage: usage
          ? [
              ...[usage.input_tokens, usage.output_tokens, usage.total_tokens],
              ...[usage.input_tokens_details.cached_tokens, usage.input_tokens_details.cache_write_tokens],
              usage.output_tokens_details.reasoning_tokens,
            ]
          : undefined,
        isCut: response.incomplete_details?.reason === 'max_output_tokens',
        thinking: response.output
          .flatMap(item => (item.type === 'reasoning' ? item.summary.map(part => part.text) : []))
          .join(''),
      }
    }
    await fc.assert(
      fc.asyncProperty(scripts, cuts, async (turn, places) => {
        play({ turn, cuts: places })
        const { outcome } = await playTurn(connection)
        const thinking = (outcome.kind === 'answered' && outcome.reasoning) || ''
        expect({ ...(await ourReading(connection)), thinking }).toEqual(await theirReading())
      }),
      { numRuns: 150 },
    )
  })
})
