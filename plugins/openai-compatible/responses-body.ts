import type { ImageBlock, Message, ToolCall } from '#contracts/run/message'
import type { BodyForm } from './body-writer.js'
import { dataUrl, sendableCall } from './chat-body.js'

/**
 * Requests of the Responses API. Nothing is stored at the server. `carried` knows the very items an assistant message
 * came from, where they hold more than the message does.
 */
export const responsesForm = (carried: (message: Message) => readonly object[] | undefined): BodyForm => ({
  head({ reasoningEffort, tools }, { model, isSerial }) {
    const effort = reasoningEffort
      ? `,"reasoning":{"effort":${JSON.stringify(reasoningEffort)}},"include":["reasoning.encrypted_content"]`
      : ''
    const serial = isSerial && tools.length > 0 ? ',"parallel_tool_calls":false' : ''
    return `{"model":${JSON.stringify(model)},"stream":true,"store":false${effort}${serial}`
  },
  system: text => `,"instructions":${JSON.stringify(text)}`,
  isSystemField: true,
  tools(tools) {
    const list = tools.map(({ name, description, parameters }) => ({
      ...{ type: 'function', name, description, parameters, strict: false },
    }))
    return `,"tools":${JSON.stringify(list)},"tool_choice":"auto"`
  },
  opening: ',"input":[',
  message: message => (carried(message) ?? inputItems(message)).map(item => `,${JSON.stringify(item)}`).join(''),
})

function inputItems(message: Message): readonly object[] {
  const { role, content } = message
  switch (role) {
    case 'system':
      return [inputMessage('developer', content)]
    case 'user':
      return [inputMessage('user', message.blocks?.length ? inputContent(content, message.blocks) : content)]
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.tool_call_id ?? '', output: content }]
    case 'assistant':
      return [
        ...(content === '' ? [] : [inputMessage('assistant', content)]),
        ...(message.tool_calls ?? []).map(functionCallItem),
      ]
  }
}

const inputMessage = (role: 'user' | 'assistant' | 'developer', content: string | readonly object[]) => ({
  ...{ type: 'message', role, content },
})

const inputContent = (text: string, blocks: readonly ImageBlock[]) => [
  ...(text === '' ? [] : [{ type: 'input_text', text }]),
  ...blocks.map(block => ({ type: 'input_image', image_url: dataUrl(block), detail: 'auto' })),
]

/** A call as it is sent back. */
export const functionCallItem = (call: ToolCall): object => ({
  type: 'function_call',
  call_id: call.id,
  ...sendableCall(call),
})
