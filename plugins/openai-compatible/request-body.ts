import type { ModelRequest, ToolSpec } from '#contracts/model/client'
import type { ImageBlock, Message, ToolCall } from '#contracts/run/message'

const NOTHING = Buffer.alloc(0)
const OPENING = Buffer.from(',"messages":[')
const CLOSING = Buffer.from(']}')

/**
 * Writes request bodies. Messages keep their identity from turn to turn, and most runs offer the tools that the run
 * before offered, so each is serialised once in its life and a turn only copies bytes: joining them as strings costs five
 * times as much over 1,000 messages.
 */
export class RequestBodyWriter {
  /** Each with a comma before it. */
  private readonly messages = new WeakMap<Message, Buffer>()
  private lastTools: readonly ToolSpec[] = []
  private lastToolsJson = NOTHING
  private lastSystem = ''
  private lastSystemJson = NOTHING

  /** The JSON text of one streamed chat-completions request, in UTF-8. */
  write(request: ModelRequest): Buffer {
    const messages: Buffer[] = []
    if (request.system !== '') messages.push(this.systemJson(request.system))
    for (const message of request.messages) messages.push(this.messageJson(message))
    for (const message of request.trailing) messages.push(this.messageJson(message))
    const [first = NOTHING] = messages
    messages[0] = first.subarray(1)
    const effort = request.reasoningEffort ? `,"reasoning_effort":${JSON.stringify(request.reasoningEffort)}` : ''
    const head = `{"model":${JSON.stringify(request.model)},"stream":true,"stream_options":{"include_usage":true}`
    return Buffer.concat([Buffer.from(head + effort), this.toolsJson(request.tools), OPENING, ...messages, CLOSING])
  }

  private systemJson(system: string): Buffer {
    if (system !== this.lastSystem) {
      this.lastSystem = system
      this.lastSystemJson = Buffer.from(`,${JSON.stringify({ role: 'system', content: system })}`)
    }
    return this.lastSystemJson
  }

  private messageJson(message: Message): Buffer {
    const known = this.messages.get(message)
    if (known !== undefined) return known
    const json = Buffer.from(`,${JSON.stringify(wireMessage(message))}`)
    this.messages.set(message, json)
    return json
  }

  private toolsJson(tools: readonly ToolSpec[]): Buffer {
    if (tools.length === 0) return NOTHING
    if (isSameList(tools, this.lastTools)) return this.lastToolsJson
    const list = tools.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }))
    this.lastTools = tools
    this.lastToolsJson = Buffer.from(`,"tools":${JSON.stringify(list)},"tool_choice":"auto"`)
    return this.lastToolsJson
  }
}

/** Every run makes a list of its own, out of the same parts. */
const isSameList = (some: readonly ToolSpec[], others: readonly ToolSpec[]): boolean =>
  some === others ||
  (some.length === others.length &&
    some.every((tool, index) => {
      const other = others[index]
      return tool.name === other?.name && tool.parameters === other.parameters && tool.description === other.description
    }))

function wireMessage(message: Message): object {
  const { role, content } = message
  switch (role) {
    case 'system':
      return { role, content }
    case 'user':
      return { role, content: message.blocks?.length ? wireContent(content, message.blocks) : content }
    case 'tool':
      return { role, tool_call_id: message.tool_call_id ?? '', content }
    case 'assistant':
      if (!message.tool_calls?.length) return { role, content }
      return { role, content: content === '' ? null : content, tool_calls: message.tool_calls.map(wireCall) }
  }
}

const wireContent = (text: string, blocks: readonly ImageBlock[]) => [
  ...(text === '' ? [] : [{ type: 'text', text }]),
  ...blocks.map(({ media_type, data }) => ({
    type: 'image_url',
    image_url: { url: `data:${media_type};base64,${data}` },
  })),
]

/** Servers that parse what they are sent back refuse an empty name and empty arguments, though models produce both. */
const wireCall = ({ id, name, arguments: text }: ToolCall) => ({
  id,
  type: 'function',
  function: { name: name || 'unknown', arguments: text.trim() === '' ? '{}' : text },
})
