import type { ImageBlock, Message, ToolCall } from '#contracts/run/message'
import type { BodyForm } from './body-writer.js'

/** Requests of chat completions. `hasReasoning`: assistant messages carry the thinking that is stored with them. */
export const chatForm = (hasReasoning: boolean): BodyForm => ({
  head({ reasoningEffort, tools }, { model, isSerial }) {
    const effort = reasoningEffort ? `,"reasoning_effort":${JSON.stringify(reasoningEffort)}` : ''
    const serial = isSerial && tools.length > 0 ? ',"parallel_tool_calls":false' : ''
    return `{"model":${JSON.stringify(model)},"stream":true,"stream_options":{"include_usage":true}${effort}${serial}`
  },
  system: text => `,${JSON.stringify({ role: 'system', content: text })}`,
  isSystemField: false,
  tools(tools) {
    const list = tools.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }))
    return `,"tools":${JSON.stringify(list)},"tool_choice":"auto"`
  },
  opening: ',"messages":[',
  message: message => `,${JSON.stringify(wireMessage(message, hasReasoning))}`,
})

function wireMessage(message: Message, hasReasoning: boolean): object {
  const { role, content } = message
  switch (role) {
    case 'system':
      return { role, content }
    case 'user':
      return { role, content: message.blocks?.length ? wireContent(content, message.blocks) : content }
    case 'tool':
      return { role, tool_call_id: message.tool_call_id ?? '', content }
    case 'assistant': {
      const thinking = hasReasoning && message.reasoning ? wireThinking(message.reasoning) : {}
      if (!message.tool_calls?.length) return { role, content, ...thinking }
      return {
        role,
        content: content === '' ? null : content,
        ...thinking,
        tool_calls: message.tool_calls.map(wireCall),
      }
    }
  }
}

/** Servers read one field or the other. */
const wireThinking = (text: string) => ({
  reasoning_content: text,
  reasoning_details: [{ type: 'reasoning.text', text }],
})

const wireContent = (text: string, blocks: readonly ImageBlock[]) => [
  ...(text === '' ? [] : [{ type: 'text', text }]),
  ...blocks.map(block => ({ type: 'image_url', image_url: { url: dataUrl(block) } })),
]

const wireCall = (call: ToolCall) => ({
  id: call.id,
  type: 'function',
  function: sendableCall(call),
})

/** Servers that parse what they are sent back refuse an empty name and empty arguments, though models produce both. */
export const sendableCall = ({ name, arguments: text }: ToolCall) => ({
  name: name || 'unknown',
  arguments: text.trim() === '' ? '{}' : text,
})

export const dataUrl = ({ media_type, data }: ImageBlock): string => `data:${media_type};base64,${data}`
