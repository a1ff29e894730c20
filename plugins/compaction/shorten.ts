import type { Message, ToolCall } from '#contracts/run/message'
import { messageTokens } from '#contracts/run/token-estimate'

/** Larger tool outputs than this are not kept as they are. */
const LARGE_TOKENS = 500

/** A call that goes, with what it gave. */
export interface DroppedCall {
  readonly call: ToolCall
  readonly output: string
}

export interface Shortened {
  readonly messages: readonly Message[]
  /** Results and turns that are gone. */
  readonly dropped: number
  readonly calls: readonly DroppedCall[]
}

/** Without any call and result; what the model said in words stays. */
export const strip = (messages: readonly Message[]): Shortened => shorten(messages, () => false)

/** Without the calls whose output is large. */
export const stripLarge = (messages: readonly Message[]): Shortened =>
  shorten(messages, result => messageTokens(result) <= LARGE_TOKENS)

/** A call and its result stay together or go together. Messages that stay whole keep their identity. */
function shorten(messages: readonly Message[], isKept: (result: Message) => boolean): Shortened {
  const kept: Message[] = []
  const calls: DroppedCall[] = []
  let dropped = 0
  for (let index = 0; index < messages.length; ) {
    const end = endOfStretch(messages, index)
    const stretch = shortenStretch(messages.slice(index, end), isKept)
    kept.push(...stretch.messages)
    calls.push(...stretch.calls)
    dropped += stretch.dropped
    index = end
  }
  return { messages: kept, dropped, calls }
}

/** One message of the model and all that follows until its next one. */
function endOfStretch(messages: readonly Message[], start: number): number {
  const next = messages.findIndex(({ role }, index) => index > start && role === 'assistant')
  return next < 0 ? messages.length : next
}

function shortenStretch(stretch: readonly Message[], isKept: (result: Message) => boolean): Shortened {
  const [first] = stretch
  const calls = first?.role === 'assistant' ? (first.tool_calls ?? []) : []
  const results = new Map(
    stretch.filter(({ role }) => role === 'tool').map(message => [message.tool_call_id ?? '', message]),
  )
  const keptCalls = calls.filter(({ id }) => {
    const result = results.get(id)
    return result !== undefined && isKept(result)
  })
  const keptResults = new Set(keptCalls.map(({ id }) => results.get(id)))
  const messages = stretch.flatMap(message => {
    if (message.role === 'tool') return keptResults.has(message) ? [message] : []
    return message === first && calls.length > keptCalls.length ? withCalls(message, keptCalls) : [message]
  })
  const gone = calls.filter(call => !keptCalls.includes(call))
  return {
    messages,
    dropped: stretch.length - messages.length,
    calls: gone.map(call => ({ call, output: results.get(call.id)?.content ?? '' })),
  }
}

function withCalls(message: Message, calls: readonly ToolCall[]): readonly Message[] {
  if (calls.length > 0) return [{ ...message, tool_calls: calls }]
  return message.content.trim() === '' ? [] : [{ role: 'assistant', content: message.content }]
}
