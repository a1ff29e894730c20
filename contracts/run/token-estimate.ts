import type { Message } from './message.js'

const known = new WeakMap<Message, number>()

/** Roughly how many tokens a text is: a quarter of its characters (code points), rounded up. */
export const estimateTokens = (text: string): number => Math.ceil(countCharacters(text) / 4)

/** The estimate for one message: its text and the arguments of its calls. Counted once in a message's life. */
export function messageTokens(message: Message): number {
  const before = known.get(message)
  if (before !== undefined) return before
  const calls = message.tool_calls ?? []
  const characters = calls.reduce(
    (sum, call) => sum + countCharacters(call.arguments),
    countCharacters(message.content),
  )
  const tokens = Math.ceil(characters / 4)
  known.set(message, tokens)
  return tokens
}

/** The sum over messages: one number for pressure, compaction and what the model is told. */
export const transcriptTokens = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + messageTokens(message), 0)

function countCharacters(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length - 1; index++) {
    const isHigh = (text.charCodeAt(index) & 0xfc00) === 0xd800
    if (isHigh && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) count--
  }
  return count
}
