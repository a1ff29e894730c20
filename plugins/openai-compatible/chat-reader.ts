import type { FinishReason, ModelFailure, ModelOutcome } from '#contracts/model/client'
import { type AnswerDraft, type Fields, isFields, textOf } from '#contracts/model/wire/answer-draft'
import { readError } from '#contracts/model/wire/error-text'
import { streamFailure } from '#contracts/model/wire/http-failure'
import type { AnswerReader } from '#contracts/model/wire/response-body'
import { addFacts, addUsage } from './answer-facts.js'

/** Reads the chunks of one chat-completions answer, streamed or whole. Servers differ in every field of them. */
export class ChatReader implements AnswerReader {
  isDone = false
  private reason: string | undefined
  private hasChoice = false

  constructor(
    private readonly draft: AnswerDraft,
    private readonly secret: string,
  ) {}

  take(data: string): ModelFailure | undefined {
    if (data === '[DONE]') {
      this.isDone = true
      return undefined
    }
    const chunk = this.draft.parse(data)
    if (typeof chunk === 'string') return this.draft.malformed(chunk)
    if (chunk.error) return streamFailure(this.draft.host, readError(chunk.error, this.secret))
    addFacts(this.draft, chunk)
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined
    if (!isFields(choice)) {
      if (isFields(chunk.x_groq)) addUsage(this.draft, chunk.x_groq.usage)
      return undefined
    }
    this.hasChoice = true
    addUsage(this.draft, choice.usage)
    this.takeDelta(choice.delta ?? choice.message)
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') this.reason = choice.finish_reason
    return this.draft.overLimit()
  }

  takeWhole(body: string): ModelFailure | undefined {
    const failure = this.take(body)
    if (failure !== undefined) return failure
    if (!this.hasChoice) return this.draft.malformed('holds no choices')
    this.isDone = true
    return undefined
  }

  finish(): ModelOutcome {
    const { draft, reason } = this
    if (reason === undefined && !this.isDone) return { kind: 'failed', failure: draft.endedEarly('a finish reason') }
    if (reason === 'error')
      return {
        kind: 'failed',
        failure: { category: 'retryable', message: `${draft.host} ended its answer with an error` },
      }
    return draft.finish(finishOf(reason))
  }

  private takeDelta(delta: unknown): void {
    if (!isFields(delta)) return
    this.draft.addThinking(thinkingOf(delta))
    this.draft.addText(textOf(delta.content) || textOf(delta.refusal))
    if (Array.isArray(delta.tool_calls))
      for (const fragment of delta.tool_calls) if (isFields(fragment)) this.takeFragment(fragment, fragment.function)
    if (isFields(delta.function_call)) this.takeFragment({ index: 0 }, delta.function_call)
  }

  private takeFragment({ index, id }: Fields, called: unknown): void {
    const { name, arguments: text } = isFields(called) ? called : {}
    this.draft.addCall({ index, id, name, arguments: text })
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
function thinkingOf({ reasoning_content, reasoning_details, reasoning }: Fields): string {
  if (typeof reasoning_content === 'string' && reasoning_content !== '') return reasoning_content
  return textOf(reasoning_details) || textOf(reasoning)
}
