import type { FinishReason, ModelFailure, ModelOutcome, ModelSink } from '#contracts/model/client'
import type { Message } from '#contracts/run/message'
import type { Usage } from '#contracts/run/usage'
import { readError } from './error-text.js'
import { streamFailure } from './http-failure.js'
import { ToolCallAssembler, type WireFragment } from './tool-call-assembler.js'
import { parseStatedCost, parseUsage } from './usage.js'

export interface AnswerLimits {
  /** Characters of text, thinking and tool arguments together. */
  readonly maxAnswerChars: number
  readonly maxToolCalls: number
}

/** Delta or whole message; servers differ in all of it. */
interface WireDelta {
  readonly content?: unknown
  readonly refusal?: unknown
  readonly reasoning_content?: unknown
  readonly reasoning_details?: unknown
  readonly reasoning?: unknown
  readonly tool_calls?: unknown
  readonly function_call?: WireFragment['function']
}

interface WireChunk extends Readonly<Record<string, unknown>> {
  readonly choices?: readonly {
    readonly delta?: WireDelta
    readonly message?: WireDelta
    readonly finish_reason?: unknown
    readonly usage?: unknown
  }[]
}

/** Turns the chunks of one chat-completions answer, streamed or whole, into parts and, at the end, into the answer. */
export class AnswerReader {
  /** The server said that nothing follows. */
  isDone = false
  private text = ''
  private thinking = ''
  private argumentChars = 0
  private usage: Usage | undefined
  private costUsd: number | undefined
  private reason: string | undefined
  private version: string | undefined
  private chunks = 0
  private hasChoice = false
  private readonly calls: ToolCallAssembler

  constructor(
    private readonly host: string,
    private readonly apiKey: string,
    private readonly limits: AnswerLimits,
    private readonly sink: ModelSink,
    transcript: readonly Message[],
  ) {
    this.calls = new ToolCallAssembler(sink, transcript)
  }

  /** Takes the JSON text of one chunk; answers the failure that ends the turn, if it is one. */
  take(data: string): ModelFailure | undefined {
    if (data === '[DONE]') {
      this.isDone = true
      return undefined
    }
    this.chunks++
    let chunk: WireChunk
    try {
      chunk = JSON.parse(data)
    } catch {
      return this.malformed('is not JSON')
    }
    if (typeof chunk !== 'object' || chunk === null || Array.isArray(chunk)) return this.malformed('is not an object')
    if (chunk.error) return streamFailure(this.host, readError(chunk.error, this.apiKey))
    if (typeof chunk.model === 'string' && chunk.model !== '') this.version = chunk.model
    if (chunk.usage) this.takeUsage(chunk.usage)
    this.costUsd = parseStatedCost(chunk) ?? this.costUsd
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined
    if (typeof choice !== 'object' || choice === null) {
      this.takeUsage((chunk.x_groq as { readonly usage?: unknown } | undefined)?.usage)
      return undefined
    }
    this.hasChoice = true
    this.takeUsage(choice.usage)
    this.takeDelta(choice.delta ?? choice.message)
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') this.reason = choice.finish_reason
    return this.overLimit()
  }

  /** Takes the JSON text of an answer that came in one piece. */
  takeWhole(body: string): ModelFailure | undefined {
    const failure = this.take(body)
    if (failure !== undefined) return failure
    if (!this.hasChoice) return this.malformed('holds no choices')
    this.isDone = true
    return undefined
  }

  /** The answer is over. Without a finish reason or an end mark it was cut off. */
  finish(): ModelOutcome {
    if (this.reason === undefined && !this.isDone)
      return failed(
        'retryable',
        `the answer of ${this.host} ended early, after ${this.chunks} chunks and without a finish reason`,
      )
    if (this.reason === 'error') return failed('retryable', `${this.host} ended its answer with an error`)
    return {
      kind: 'answered',
      text: this.text,
      toolCalls: this.calls.finish(),
      finish: finishOf(this.reason),
      ...(this.thinking === '' ? {} : { reasoning: this.thinking }),
      ...(this.usage === undefined ? {} : { usage: this.usage }),
      ...(this.costUsd === undefined ? {} : { costUsd: this.costUsd }),
      ...(this.version === undefined ? {} : { modelVersion: this.version }),
    }
  }

  private takeDelta(delta: WireDelta | undefined): void {
    if (typeof delta !== 'object' || delta === null) return
    const thinking = thinkingOf(delta)
    if (thinking !== '') {
      this.thinking += thinking
      this.sink.part({ kind: 'thinking', text: thinking })
    }
    const text = textOf(delta.content) || textOf(delta.refusal)
    if (text !== '') {
      this.text += text
      this.sink.part({ kind: 'text', text })
    }
    if (Array.isArray(delta.tool_calls)) for (const fragment of delta.tool_calls) this.takeFragment(fragment)
    if (delta.function_call) this.takeFragment({ index: 0, function: delta.function_call })
  }

  private takeFragment(fragment: unknown): void {
    if (typeof fragment !== 'object' || fragment === null || this.calls.count > this.limits.maxToolCalls) return
    this.argumentChars += this.calls.take(fragment as WireFragment)
  }

  private takeUsage(value: unknown): void {
    this.usage = parseUsage(value) ?? this.usage
  }

  private overLimit(): ModelFailure | undefined {
    if (this.calls.count > this.limits.maxToolCalls)
      return failure('other', `${this.host} asked for more than ${this.limits.maxToolCalls} tool calls in one answer`)
    if (this.text.length + this.thinking.length + this.argumentChars > this.limits.maxAnswerChars)
      return failure('other', `the answer of ${this.host} is longer than ${this.limits.maxAnswerChars} characters`)
    return undefined
  }

  private malformed(what: string): ModelFailure {
    return failure('other', `chunk ${this.chunks} of the answer of ${this.host} ${what}`)
  }
}

function finishOf(reason: string | undefined): FinishReason {
  switch (reason) {
    case undefined:
      return ''
    case 'stop':
    case 'length':
    case 'tool_calls':
    case 'content_filter':
      return reason
    case 'function_call':
      return 'tool_calls'
    default:
      return 'other'
  }
}

/** Several fields may carry the same thinking; only one of them is taken. */
function thinkingOf({ reasoning_content, reasoning_details, reasoning }: WireDelta): string {
  if (typeof reasoning_content === 'string' && reasoning_content !== '') return reasoning_content
  return textOf(reasoning_details) || textOf(reasoning)
}

/** Text, or the joined text of a list of typed parts. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value.map(part => (typeof part?.text === 'string' ? part.text : '')).join('')
}

const failure = (category: ModelFailure['category'], message: string): ModelFailure => ({ category, message })

const failed = (category: ModelFailure['category'], message: string): ModelOutcome => ({
  kind: 'failed',
  failure: failure(category, message),
})
