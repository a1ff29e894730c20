import type { Message } from '../../run/message.js'
import type { Usage } from '../../run/usage.js'
import type { FinishReason, ModelAnswer, ModelFailure, ModelSink } from '../client.js'
import { ToolCallAssembler, type ToolCallFragment } from './tool-call-assembler.js'

export interface AnswerLimits {
  /** Characters of text, thinking and tool arguments together. */
  readonly maxAnswerChars: number
  readonly maxToolCalls: number
}

export type Fields = Readonly<Record<string, unknown>>

/** An answer in the making, whatever wire it comes over: each piece goes to the sink at once and is kept for the end. */
export class AnswerDraft {
  /** What is reported besides the parts; readers set what they learn. */
  usage: Usage | undefined
  costUsd: number | undefined
  modelVersion: string | undefined
  private chunks = 0
  private text = ''
  private thinking = ''
  private otherChars = 0
  private readonly calls: ToolCallAssembler

  constructor(
    readonly host: string,
    private readonly limits: AnswerLimits,
    private readonly sink: ModelSink,
    transcript: readonly Message[],
  ) {
    this.calls = new ToolCallAssembler(sink, transcript)
  }

  get isEmpty(): boolean {
    return this.text === '' && this.thinking === '' && this.calls.count === 0
  }

  get hasThinking(): boolean {
    return this.thinking !== ''
  }

  get hasCalls(): boolean {
    return this.calls.count > 0
  }

  /** The object in the data of the next chunk, or what is wrong with it. */
  parse(data: string): Fields | string {
    this.chunks++
    let chunk: unknown
    try {
      chunk = JSON.parse(data)
    } catch {
      return 'is not JSON'
    }
    return isFields(chunk) ? chunk : 'is not an object'
  }

  malformed(what: string): ModelFailure {
    return other(`chunk ${this.chunks} of the answer of ${this.host} ${what}`)
  }

  addText(text: string): void {
    if (text === '') return
    this.text += text
    this.sink.part({ kind: 'text', text })
  }

  addThinking(text: string): void {
    if (text === '') return
    this.thinking += text
    this.sink.part({ kind: 'thinking', text })
  }

  addCall(fragment: ToolCallFragment): void {
    if (this.calls.count <= this.limits.maxToolCalls) this.otherChars += this.calls.take(fragment)
  }

  /** What a reader keeps besides parts counts too. */
  addWeight(chars: number): void {
    this.otherChars += chars
  }

  /** Ask after each chunk: the failure that ends an answer which outgrew its limits. */
  overLimit(): ModelFailure | undefined {
    const { maxAnswerChars, maxToolCalls } = this.limits
    if (this.calls.count > maxToolCalls)
      return other(`${this.host} asked for more than ${maxToolCalls} tool calls in one answer`)
    if (this.text.length + this.thinking.length + this.otherChars > maxAnswerChars)
      return other(`the answer of ${this.host} is longer than ${maxAnswerChars} characters`)
    return undefined
  }

  endedEarly(without: string): ModelFailure {
    return {
      category: 'retryable',
      message: `the answer of ${this.host} ended early, after ${this.chunks} chunks and without ${without}`,
    }
  }

  finish(finish: FinishReason): ModelAnswer {
    return {
      kind: 'answered',
      text: this.text,
      toolCalls: this.calls.finish(),
      finish,
      ...(this.thinking === '' ? {} : { reasoning: this.thinking }),
      ...(this.usage === undefined ? {} : { usage: this.usage }),
      ...(this.costUsd === undefined ? {} : { costUsd: this.costUsd }),
      ...(this.modelVersion === undefined ? {} : { modelVersion: this.modelVersion }),
    }
  }
}

/** Anything with fields: no list, no bare value. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Text, or the joined text of a list of typed parts. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value.map(part => (typeof part?.text === 'string' ? part.text : '')).join('')
}

const other = (message: string): ModelFailure => ({ category: 'other', message })
