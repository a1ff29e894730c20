import type { ImageBlock, Message, ToolCall } from '#contracts/run/message'

/** A message as it is sent, apart from its place among others. */
export interface WireMessage {
  readonly kind: 'user' | 'assistant' | 'result'
  /** Content blocks as JSON. Empty: there is nothing to say. */
  readonly blocks: Buffer
  /** The message with nothing but these blocks, and a comma before it. */
  readonly whole: Buffer
  /** Of the calls it makes, or of the one it answers. */
  readonly callIds: readonly string[]
}

const NO_CALLS: readonly string[] = []

/** Writes one message. What a system message says in the course of a conversation stands in a tag on the user's side. */
export function wireMessage(message: Message): WireMessage {
  const { role, content, blocks = [], tool_calls: calls = [] } = message
  switch (role) {
    case 'system':
      return systemNote(content)
    case 'user':
      return written('user', NO_CALLS, ...blocks.map(image), text(content))
    case 'assistant': {
      const ids = calls.map(({ id }) => wireId(id))
      return written('assistant', ids, text(content), ...calls.map(toolUse))
    }
    case 'tool': {
      const id = wireId(message.tool_call_id ?? '')
      return written('result', [id], toolResult(id, content, content.startsWith('{"error":')))
    }
  }
}

/** Text on the user's side that no user said. */
export const systemNote = (content: string): WireMessage =>
  written('user', NO_CALLS, isBlank(content) ? '' : text(`<system>\n${content}\n</system>`))

/** The answer to a call that has none in the transcript: the API takes no call without a result. */
export const missingResult = (callId: string): WireMessage =>
  written('result', [callId], toolResult(callId, 'no result of this call was recorded', true))

/** A result without its call, as text: the API takes it no other way. */
export const strayResult = ({ content, name = '' }: Message): WireMessage =>
  systemNote(`The result of an earlier call${name === '' ? '' : ` of ${name}`}:\n${content}`)

const CLOSING = ']}'

function written(kind: WireMessage['kind'], callIds: readonly string[], ...blocks: readonly string[]): WireMessage {
  const role = kind === 'assistant' ? kind : 'user'
  const opening = `,{"role":"${role}","content":[`
  const whole = Buffer.from(opening + blocks.filter(block => block !== '').join(',') + CLOSING)
  return { kind, callIds, whole, blocks: whole.subarray(opening.length, whole.length - CLOSING.length) }
}

/** The API refuses text without a visible character. */
const isBlank = (content: string): boolean => content.trim() === ''

const text = (content: string): string =>
  isBlank(content) ? '' : JSON.stringify({ type: 'text', text: wellFormed(content) })

const image = ({ media_type, data }: ImageBlock): string =>
  JSON.stringify({ type: 'image', source: { type: 'base64', media_type, data } })

const toolUse = ({ id, name, arguments: input }: ToolCall): string =>
  `{"type":"tool_use","id":${JSON.stringify(wireId(id))},"name":${JSON.stringify(wireName(name))},"input":${objectText(input)}}`

const toolResult = (callId: string, content: string, isError: boolean): string =>
  JSON.stringify({
    type: 'tool_result',
    tool_use_id: callId,
    ...(isBlank(content) ? {} : { content: wellFormed(content) }),
    ...(isError ? { is_error: true } : {}),
  })

/**
 * The arguments as the model wrote them, to the letter, when they are an object, which the API insists on. Anything else
 * is shown to the model as what it was, beside the error it got for it.
 */
function objectText(text: string): string {
  if (isBlank(text)) return '{}'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify({ unparsed_arguments: wellFormed(text) })
  if (!ESCAPED_SURROGATE.test(text)) return wellFormed(text)
  return JSON.stringify(value, (_, part) => (typeof part === 'string' ? wellFormed(part) : part))
}

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/
const LONE_SURROGATE = /\p{Surrogate}/gu

/** Half a character, as cutting text by length leaves it, makes the API refuse the whole request. */
export const wellFormed = (text: string): string => text.replace(LONE_SURROGATE, '\uFFFD')

const ID = /^[a-zA-Z0-9_-]+$/

/** An id as it is sent: those of other providers may hold what this API refuses. Different ids stay different. */
export const wireId = (id: string): string => (ID.test(id) ? id : `id_${Buffer.from(id).toString('base64url')}`)

/** Of a call in the past: models make up names that the API refuses. */
const wireName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
