import type { ModelRequest, ToolSpec } from '#contracts/model/client'
import { isSameOffer } from '#contracts/model/wire/same-tools'
import type { Message } from '#contracts/run/message'

/** How an API wants a request: pieces of JSON text, each with the comma before it. */
export interface BodyForm {
  /** All fields that are neither tools, system prompt nor messages: the first one of the object, without a comma. */
  head(request: ModelRequest, wish: BodyWish): string
  /** The system prompt, as a field or as the first message. */
  system(text: string): string
  readonly isSystemField: boolean
  tools(tools: readonly ToolSpec[]): string
  /** The field that holds the messages, up to its bracket. */
  readonly opening: string
  /** A message as none, one or more objects. */
  message(message: Message): string
}

/** What is not in the request itself. */
export interface BodyWish {
  /** As it goes over the wire. */
  readonly model: string
  readonly isSerial: boolean
}

const NOTHING = Buffer.alloc(0)
const CLOSING = Buffer.from(']}')

/**
 * Writes request bodies. Messages keep their identity from turn to turn, and most runs offer the tools that the run
 * before offered, so each is serialised once in its life and a turn only copies bytes: joining them as strings costs five
 * times as much over 1,000 messages. Cached bytes depend on nothing but the message and the form.
 */
export class BodyWriter {
  /** Each with a comma before it. */
  private messages = new WeakMap<Message, Buffer>()
  private readonly opening: Buffer
  private lastTools: readonly ToolSpec[] = []
  private lastToolsJson = NOTHING
  private lastSystem = ''
  private lastSystemJson = NOTHING

  constructor(private readonly form: BodyForm) {
    this.opening = Buffer.from(form.opening)
  }

  /** The JSON text of one streamed request, in UTF-8. */
  write(request: ModelRequest, wish: BodyWish): Buffer {
    const head = Buffer.from(this.form.head(request, wish))
    const system = request.system === '' ? NOTHING : this.systemJson(request.system)
    const fields = this.form.isSystemField ? [head, system] : [head]
    const items = this.form.isSystemField ? [] : [system]
    for (const message of request.messages) items.push(this.messageJson(message))
    for (const message of request.trailing) items.push(this.messageJson(message))
    const first = items.findIndex(item => item.length > 0)
    if (first !== -1) items[first] = (items[first] ?? NOTHING).subarray(1)
    return Buffer.concat([...fields, this.toolsJson(request.tools), this.opening, ...items, CLOSING])
  }

  /** Messages are serialised anew. */
  forget(): void {
    this.messages = new WeakMap()
  }

  private systemJson(system: string): Buffer {
    if (system !== this.lastSystem) {
      this.lastSystem = system
      this.lastSystemJson = Buffer.from(this.form.system(system))
    }
    return this.lastSystemJson
  }

  private messageJson(message: Message): Buffer {
    const known = this.messages.get(message)
    if (known !== undefined) return known
    const json = Buffer.from(this.form.message(message))
    this.messages.set(message, json)
    return json
  }

  private toolsJson(tools: readonly ToolSpec[]): Buffer {
    if (tools.length === 0) return NOTHING
    if (!isSameOffer(tools, this.lastTools)) {
      this.lastTools = tools
      this.lastToolsJson = Buffer.from(this.form.tools(tools))
    }
    return this.lastToolsJson
  }
}
