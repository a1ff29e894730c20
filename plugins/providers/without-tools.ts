import type { ModelRequest } from '#contracts/model/client'
import type { Message, ToolCall } from '#contracts/run/message'

/**
 * The request as a model gets it that cannot call tools: none are offered, and calls of earlier turns, which another model
 * made, are told in words. Results that follow each other become one message, since some servers refuse two in a row.
 */
export function withoutTools(request: ModelRequest): ModelRequest {
  const { messages } = request
  const hasCalls = messages.some(({ role, tool_calls: calls }) => role === 'tool' || calls?.length)
  return { ...request, tools: NO_TOOLS, messages: hasCalls ? told(messages) : messages }
}

const NO_TOOLS: ModelRequest['tools'] = Object.freeze([])

function told(messages: readonly Message[]): readonly Message[] {
  const names = new Map(messages.flatMap(({ tool_calls: calls = [] }) => calls.map(call => [call.id, call.name])))
  const kept: Message[] = []
  let results: string[] = []
  const flush = (): void => {
    if (results.length > 0) kept.push({ role: 'user', content: results.join('\n\n') })
    results = []
  }
  for (const message of messages) {
    if (message.role === 'tool') {
      const { content, name = names.get(message.tool_call_id ?? '') ?? 'a tool' } = message
      results.push(`[Result of ${name}]\n${content}`)
      continue
    }
    flush()
    kept.push(message.tool_calls?.length ? spoken(message, message.tool_calls) : message)
  }
  flush()
  return kept
}

function spoken({ tool_calls: _, content, ...rest }: Message, calls: readonly ToolCall[]): Message {
  const lines = calls.map(({ name, arguments: text }) => `[Called ${name} with ${text.trim() || '{}'}]`)
  return { ...rest, content: [...(content === '' ? [] : [content]), ...lines].join('\n') }
}
