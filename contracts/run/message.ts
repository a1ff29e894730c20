import { type Static, Type } from '@sinclair/typebox'

/** One call the model asks for. `arguments` is the JSON text exactly as the model sent it. */
export const ToolCall = Type.Object({ id: Type.String(), name: Type.String(), arguments: Type.String() })
export type ToolCall = Readonly<Static<typeof ToolCall>>

/** Non-text content of a user message; `data` is base64. */
export const ImageBlock = Type.Object({
  type: Type.Literal('image'),
  media_type: Type.Union([Type.Literal('image/png'), Type.Literal('image/jpeg')]),
  data: Type.String({
    minLength: 4,
    pattern: '^[A-Za-z0-9+/]+={0,2}$',
    description: 'Base64 without line breaks.',
  }),
})
export type ImageBlock = Readonly<Static<typeof ImageBlock>>

/**
 * One message of a conversation, in the form that is stored, exported and counted. Messages are never changed once
 * they are part of a transcript: wires may cache what they derive from one by object identity.
 */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly blocks?: readonly ImageBlock[]
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
  /** Of a tool message: the tool. Of a system message: what made it (`compact_summary`). */
  readonly name?: string
  /** Sent to the model, but not something the user or the model said. */
  readonly is_meta?: boolean
  readonly is_compact_summary?: boolean
  /** Thinking text, for providers that want it back. */
  readonly reasoning?: string
}
