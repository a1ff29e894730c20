import type { Message } from '../run/message.js'

const TITLE_LENGTH = 80
const SENTENCE = /^.*?[.!?](?=\s|$)/u

/**
 * The title a conversation gets from its first non-meta user message, undefined while there is none: the first line;
 * of it the first sentence if that ends within 80 characters (code points), else the first 80 and an ellipsis.
 */
export function titleOf(messages: readonly Message[]): string | undefined {
  const first = messages.find(message => message.role === 'user' && message.is_meta !== true && message.content.trim())
  if (!first) return undefined
  const start = first.content.search(/\S/)
  const end = first.content.indexOf('\n', start)
  const line = first.content.slice(start, end < 0 ? undefined : end).trim()
  // At most two units per code point: enough to judge, and a line of megabytes stays cheap.
  const characters = Array.from(line.slice(0, TITLE_LENGTH * 2 + 2))
  const head = characters.slice(0, TITLE_LENGTH).join('')
  const sentence = SENTENCE.exec(head)?.[0]
  // A mark at the very edge ends a sentence only when the line goes on with a space.
  const isWhole = sentence !== undefined && (sentence.length < head.length || /^(\s|$)/u.test(line.slice(head.length)))
  if (isWhole) return sentence
  return characters.length > TITLE_LENGTH ? `${head}…` : line
}
