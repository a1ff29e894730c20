import type { FinishReason, ModelFailure, ModelOutcome } from '#contracts/model/client'
import { type AnswerDraft, type Fields, isFields, textOf } from '#contracts/model/wire/answer-draft'
import type { AnswerReader } from '#contracts/model/wire/response-body'
import { errorFailure } from './stream-error.js'
import { UsageTally } from './usage.js'

/** A block of the answer. Kinds that are neither text nor thinking nor a call are not for us. */
type Block = { readonly kind: 'other' } | { readonly kind: 'call'; readonly input: unknown; hasArguments: boolean }

const OTHER: Block = Object.freeze({ kind: 'other' })
const NO_FIELDS: Fields = Object.freeze({})
/** Blocks need not hold anything that the other limits count. */
const MAX_BLOCKS = 10_000

/** Reads the events of one message, or a message in one piece. */
export class MessagesReader implements AnswerReader {
  isDone = false
  private reason: string | undefined
  private readonly blocks = new Map<unknown, Block>()
  private readonly tally = new UsageTally()

  constructor(
    private readonly draft: AnswerDraft,
    private readonly secret: string,
  ) {}

  take(data: string): ModelFailure | undefined {
    const event = this.draft.parse(data)
    if (typeof event === 'string') return this.draft.malformed(event)
    switch (event.type) {
      case 'content_block_delta':
        return this.takeDelta(event.index, fieldsOf(event.delta))
      case 'content_block_start':
        return this.beginBlock(event.index, fieldsOf(event.content_block))
      case 'content_block_stop':
        this.endBlock(event.index)
        return undefined
      case 'message_start':
        this.takeFacts(fieldsOf(event.message))
        return undefined
      case 'message_delta':
        this.takeReason(fieldsOf(event.delta).stop_reason)
        this.tally.take(event.usage)
        return undefined
      case 'message_stop':
        this.isDone = true
        return undefined
      default:
        return event.error ? errorFailure(this.draft.host, event.error, this.secret) : undefined
    }
  }

  takeWhole(body: string): ModelFailure | undefined {
    const message = this.draft.parse(body)
    if (typeof message === 'string') return this.draft.malformed(message)
    if (message.error) return errorFailure(this.draft.host, message.error, this.secret)
    if (!Array.isArray(message.content)) return this.draft.malformed('holds no content')
    this.takeFacts(message)
    this.takeReason(message.stop_reason)
    for (const [index, block] of message.content.entries()) {
      const failure = this.beginBlock(index, fieldsOf(block))
      if (failure !== undefined) return failure
      this.endBlock(index)
    }
    this.isDone = true
    return undefined
  }

  finish(): ModelOutcome {
    if (!this.isDone) return { kind: 'failed', failure: this.draft.endedEarly('message_stop') }
    for (const index of this.blocks.keys()) this.endBlock(index)
    this.draft.usage = this.tally.usage()
    return this.draft.finish(finishOf(this.reason))
  }

  private takeFacts({ model, usage }: Fields): void {
    if (typeof model === 'string' && model !== '') this.draft.modelVersion = model
    this.tally.take(usage)
  }

  private takeReason(reason: unknown): void {
    if (typeof reason === 'string' && reason !== '') this.reason = reason
  }

  private beginBlock(index: unknown, block: Fields): ModelFailure | undefined {
    if (block.type === 'tool_use') {
      this.blocks.set(index, { kind: 'call', input: block.input, hasArguments: false })
      this.draft.addCall({ index, id: block.id, name: block.name })
    } else {
      this.blocks.set(index, OTHER)
      if (block.type === 'text') this.draft.addText(textOf(block.text))
      else if (block.type === 'thinking') this.draft.addThinking(textOf(block.thinking))
    }
    if (this.blocks.size > MAX_BLOCKS) return this.draft.malformed(`is one of more than ${MAX_BLOCKS} blocks`)
    return this.draft.overLimit()
  }

  private takeDelta(index: unknown, delta: Fields): ModelFailure | undefined {
    if (delta.type === 'text_delta') this.draft.addText(textOf(delta.text))
    else if (delta.type === 'thinking_delta') this.draft.addThinking(textOf(delta.thinking))
    else if (delta.type === 'input_json_delta') {
      const block = this.blocks.get(index)
      if (block === undefined) return this.draft.malformed('continues a block that was never begun')
      const piece = textOf(delta.partial_json)
      if (block.kind === 'other' || piece === '') return undefined
      block.hasArguments = true
      this.draft.addCall({ index, arguments: piece })
    }
    return this.draft.overLimit()
  }

  /** A call whose arguments did not come in pieces has them, or none, in the beginning of its block. */
  private endBlock(index: unknown): void {
    const block = this.blocks.get(index)
    if (block?.kind !== 'call' || block.hasArguments) return
    block.hasArguments = true
    this.draft.addCall({ index, arguments: block.input ?? {} })
  }
}

function finishOf(reason: string | undefined): FinishReason {
  switch (reason) {
    case undefined:
      return ''
    case 'end_turn':
    case 'stop_sequence':
      return 'stop'
    case 'max_tokens':
      return 'length'
    case 'tool_use':
      return 'tool_calls'
    case 'refusal':
      return 'content_filter'
    default:
      return 'other'
  }
}

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : NO_FIELDS)
