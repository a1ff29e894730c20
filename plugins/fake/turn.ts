import { type Static, Type } from '@sinclair/typebox'
import { CostStatus } from '#contracts/run/cost'

const count = Type.Integer({ minimum: 0 })
const waitMs = Type.Integer({ minimum: 0, maximum: 86_400_000 })
const optionalText = Type.Optional(Type.String())

/** A tool call; `arguments` is JSON text, or an object that is sent as such. */
const FakeToolCall = Type.Object({
  id: optionalText,
  name: Type.String({ minLength: 1 }),
  arguments: Type.Optional(Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())])),
})

/** One piece of a streamed answer. */
const FakeDelta = Type.Object({
  content: optionalText,
  reasoning: optionalText,
  tool_call: Type.Optional(
    Type.Object({ index: Type.Optional(count), id: optionalText, name: optionalText, arguments: optionalText }),
  ),
})

/** How a turn fails instead of being answered. */
const FakeError = Type.Object({
  message: Type.Optional(Type.String()),
  status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
  category: Type.Optional(
    Type.Union(
      (['retryable', 'auth', 'context_length', 'content', 'other'] as const).map(category => Type.Literal(category)),
    ),
  ),
  retry_after_ms: Type.Optional(waitMs),
})

/** One entry of the turns file. Unknown fields are ignored. */
export const FakeTurn = Type.Object({
  content: optionalText,
  reasoning: optionalText,
  usage: Type.Optional(
    Type.Object({
      prompt: Type.Optional(count),
      completion: Type.Optional(count),
      cached: Type.Optional(count),
      reasoning: Type.Optional(count),
    }),
  ),
  cost_usd: Type.Optional(Type.Number({ minimum: 0 })),
  cost_status: Type.Optional(CostStatus),
  tool_calls: Type.Optional(Type.Array(FakeToolCall, { maxItems: 128 })),
  deltas: Type.Optional(Type.Array(FakeDelta, { maxItems: 1_000_000 })),
  delay_ms: Type.Optional(waitMs),
  delta_delay_ms: Type.Optional(waitMs),
  error: Type.Optional(Type.Union([Type.String(), FakeError])),
  hang: Type.Optional(Type.Boolean()),
})
export type FakeTurn = Readonly<Static<typeof FakeTurn>>
