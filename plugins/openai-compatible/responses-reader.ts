import type { FinishReason, ModelFailure, ModelOutcome } from '#contracts/model/client'
import { type AnswerDraft, type Fields, isFields, textOf } from '#contracts/model/wire/answer-draft'
import { readError } from '#contracts/model/wire/error-text'
import { streamFailure } from '#contracts/model/wire/http-failure'
import type { AnswerReader } from '#contracts/model/wire/response-body'
import { addFacts } from './answer-facts.js'
import type { ReasoningTrail } from './reasoning-carry.js'

/** One item of the response's output. */
interface Slot {
  readonly index: number
  /** Of text, thinking or arguments that were streamed; what is repeated whole at the end is then no news. */
  chars: number
}

/** What an item weighs before it says anything, so that empty ones have an end too. */
const SLOT_CHARS = 1024
/** Between the parts of a summary. */
const PARAGRAPH = '\n\n'
const INCOMPLETE: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  content_filter: 'content_filter',
}

/** Reads the events of one answer of the Responses API, or the response object of a server that does not stream. */
export class ResponsesReader implements AnswerReader {
  isDone = false
  private reason: FinishReason | undefined
  private readonly slots = new Map<number, Slot>()
  private slot: Slot | undefined
  /** Summary and raw thinking may both be streamed; the first to come is taken. */
  private thinkingType: unknown
  private gap = ''

  constructor(
    private readonly draft: AnswerDraft,
    private readonly secret: string,
    private readonly trail: ReasoningTrail,
  ) {}

  take(data: string): ModelFailure | undefined {
    if (data === '[DONE]') {
      this.isDone = true
      return undefined
    }
    const event = this.draft.parse(data)
    if (typeof event === 'string') return this.draft.malformed(event)
    return this.takeEvent(event) ?? this.draft.overLimit()
  }

  takeWhole(body: string): ModelFailure | undefined {
    const response = this.draft.parse(body)
    if (typeof response === 'string') return this.draft.malformed(response)
    if (response.error) return this.failed(response.error)
    if (!Array.isArray(response.output)) return this.draft.malformed('holds no output')
    return this.takeEnd(response) ?? this.draft.overLimit()
  }

  finish(): ModelOutcome {
    if (this.reason === undefined) return { kind: 'failed', failure: this.draft.endedEarly('a completion event') }
    const answer = this.draft.finish(this.reason)
    this.trail.keep(answer)
    return answer
  }

  private takeEvent(event: Fields): ModelFailure | undefined {
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.addText(this.slotOf(event), event.delta)
        return undefined
      case 'response.function_call_arguments.delta':
        this.addArguments(this.slotOf(event), event.delta)
        return undefined
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.thinkingType ??= event.type
        if (this.thinkingType === event.type) this.addThinking(this.slotOf(event), event.delta)
        return undefined
      case 'response.reasoning_summary_part.added':
        this.gap = PARAGRAPH
        return undefined
      case 'response.function_call_arguments.done': {
        const slot = this.slotOf(event)
        if (slot.chars === 0) this.addArguments(slot, event.arguments)
        return undefined
      }
      case 'response.output_item.added':
        if (isFields(event.item) && event.item.type === 'function_call') this.openCall(this.slotOf(event), event.item)
        return undefined
      case 'response.output_item.done':
        this.takeItem(this.slotOf(event), event.item)
        return undefined
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.takeEnd(isFields(event.response) ? event.response : {}, event.type.slice('response.'.length))
      case 'response.created':
        if (isFields(event.response)) addFacts(this.draft, event.response)
        return undefined
      default:
        return event.type === 'error' || event.error ? this.failed(event.error ?? event) : undefined
    }
  }

  /** The response is complete, as far as it goes. */
  private takeEnd(response: Fields, status: unknown = response.status): ModelFailure | undefined {
    if (status === 'failed') return this.failed(response.error ?? '')
    addFacts(this.draft, response)
    if (this.draft.isEmpty && Array.isArray(response.output))
      for (const [index, item] of response.output.entries()) this.takeItem(this.slotOf({ output_index: index }), item)
    this.isDone = true
    if (status === 'incomplete') {
      const why = isFields(response.incomplete_details) ? String(response.incomplete_details.reason) : ''
      this.reason = INCOMPLETE[why] ?? 'other'
    } else this.reason = this.draft.hasCalls ? 'tool_calls' : 'stop'
    return undefined
  }

  /** A finished item: what was not streamed of it is taken now. */
  private takeItem(slot: Slot, item: unknown): void {
    if (!isFields(item)) return
    if (item.type === 'message') {
      this.trail.addMessage(slot.index)
      if (slot.chars === 0) this.addText(slot, contentOf(item.content))
    } else if (item.type === 'reasoning') {
      this.draft.addWeight(this.trail.addReasoning(slot.index, item))
      if (slot.chars > 0) return
      this.gap = PARAGRAPH
      this.addThinking(slot, thinkingOf(item))
    } else if (item.type === 'function_call') {
      this.openCall(slot, item)
      if (slot.chars === 0) this.addArguments(slot, item.arguments)
    }
  }

  private openCall(slot: Slot, item: Fields): void {
    this.trail.addCall(slot.index)
    this.draft.addCall({ index: slot.index, id: item.call_id ?? item.id, name: item.name })
  }

  private addText(slot: Slot, text: unknown): void {
    if (typeof text !== 'string') return
    slot.chars += text.length
    this.draft.addText(text)
  }

  private addThinking(slot: Slot, text: unknown): void {
    if (typeof text !== 'string' || text === '') return
    slot.chars += text.length
    this.draft.addThinking(this.draft.hasThinking ? this.gap + text : text)
    this.gap = ''
  }

  private addArguments(slot: Slot, text: unknown): void {
    if (typeof text !== 'string' || text === '') return
    slot.chars += text.length
    this.draft.addCall({ index: slot.index, arguments: text })
  }

  /** An event without an index belongs to the item of the event before it. */
  private slotOf({ output_index }: Fields): Slot {
    const index = typeof output_index === 'number' ? output_index : (this.slot?.index ?? 0)
    if (this.slot?.index === index) return this.slot
    let slot = this.slots.get(index)
    if (slot === undefined) {
      slot = { index, chars: 0 }
      this.slots.set(index, slot)
      this.draft.addWeight(SLOT_CHARS)
    }
    this.slot = slot
    return slot
  }

  private failed(error: unknown): ModelFailure {
    return streamFailure(this.draft.host, readError(error, this.secret))
  }
}

/** Text and refusals of a message. */
const contentOf = (content: unknown): string =>
  Array.isArray(content) ? content.map(part => textOf(part?.text) || textOf(part?.refusal)).join('') : ''

const thinkingOf = ({ summary, content }: Fields): string => joined(summary) || joined(content)

const joined = (parts: unknown): string =>
  Array.isArray(parts)
    ? parts
        .map(part => textOf(part?.text))
        .filter(text => text !== '')
        .join(PARAGRAPH)
    : ''
