import type { ModelRequest, ToolSpec } from '#contracts/model/client'
import { isSameOffer } from '#contracts/model/wire/same-tools'
import type { Message } from '#contracts/run/message'
import { MessageList } from './message-list.js'
import { type WireMessage, wellFormed, wireMessage } from './wire-message.js'

/** What a request says besides what the run loop asks. */
export interface RequestFacts {
  /** The id on the wire. */
  readonly model: string
  readonly maxTokens: number
  readonly hasParallelToolCalls: boolean
}

const CACHE = { cache_control: { type: 'ephemeral' } }
const MESSAGES = Buffer.from('"messages":[')
const CLOSING = Buffer.from(']}')

/**
 * Writes request bodies. Messages, tools and system prompt are serialised once and then copied as bytes. With tools on
 * offer, cache marks stand after the tools, the system prompt and the last two of the user's turns, so that each step
 * reads what the step before wrote. Without tools nothing usually follows (summaries), and writing to the cache costs more
 * than it saves: there are no marks.
 */
export class RequestBodyWriter {
  private readonly written = new WeakMap<Message, WireMessage>()
  private lastTools: readonly ToolSpec[] = []
  private lastToolsJson = Buffer.alloc(0)
  private lastSystem = ''
  private isLastSystemCached = false
  private lastSystemJson = Buffer.alloc(0)

  /** The JSON text of one streamed request, in UTF-8. */
  write(request: ModelRequest, { model, maxTokens, hasParallelToolCalls }: RequestFacts): Buffer {
    const { messages, trailing, tools, system } = request
    const list = new MessageList()
    for (const message of messages) list.add(message, this.wireMessage(message))
    const isAgent = tools.length > 0
    const head = [`{"model":${JSON.stringify(model)},"max_tokens":${maxTokens},"stream":true,`]
    if (isAgent) head.push(choice(hasParallelToolCalls))
    else if (list.hasCalls) head.push(PAST_TOOLS)
    return Buffer.concat([
      Buffer.from(head.join('')),
      ...(isAgent ? [this.toolsJson(tools)] : []),
      ...(system.trim() === '' ? [] : [this.systemJson(system, isAgent)]),
      MESSAGES,
      ...list.finish(
        trailing.map(message => this.wireMessage(message)),
        isAgent,
      ),
      CLOSING,
    ])
  }

  private wireMessage(message: Message): WireMessage {
    const known = this.written.get(message)
    if (known !== undefined) return known
    const made = wireMessage(message)
    this.written.set(message, made)
    return made
  }

  private systemJson(system: string, isCached: boolean): Buffer {
    if (system !== this.lastSystem || isCached !== this.isLastSystemCached) {
      this.lastSystem = system
      this.isLastSystemCached = isCached
      const block = { type: 'text', text: wellFormed(system), ...(isCached ? CACHE : {}) }
      this.lastSystemJson = Buffer.from(`"system":${JSON.stringify([block])},`)
    }
    return this.lastSystemJson
  }

  private toolsJson(tools: readonly ToolSpec[]): Buffer {
    if (isSameOffer(tools, this.lastTools)) return this.lastToolsJson
    const list = tools.map(({ name, description, parameters }, index) => ({
      name,
      ...(description === '' ? {} : { description }),
      input_schema: { type: 'object', ...parameters },
      ...(index === tools.length - 1 ? CACHE : {}),
    }))
    this.lastTools = tools
    this.lastToolsJson = Buffer.from(`"tools":${JSON.stringify(list)},`)
    return this.lastToolsJson
  }
}

const choice = (hasParallelToolCalls: boolean): string =>
  `"tool_choice":${JSON.stringify({ type: 'auto', ...(hasParallelToolCalls ? {} : { disable_parallel_tool_use: true }) })},`

/** A transcript with calls is refused without a list of tools, also when none may be called any more. */
const PAST_TOOLS =
  '"tool_choice":{"type":"none"},"tools":[{"name":"none","description":"Not available.","input_schema":{"type":"object"}}],'
