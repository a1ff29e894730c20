import type { ModelAnswer } from '#contracts/model/client'
import type { Fields } from '#contracts/model/wire/answer-draft'
import type { Message, ToolCall } from '#contracts/run/message'
import { functionCallItem } from './responses-body.js'

/**
 * Encrypted reasoning of answers that called tools. A server that stores nothing wants it back in front of those calls; a
 * message has no place for it, so it is kept beside the calls of the answer, for as long as somebody holds these.
 */
export class ReasoningCarry {
  private kept = new WeakMap<readonly ToolCall[], { readonly text: string; readonly items: readonly object[] }>()

  /** The items a message of this process came from; undefined when there was no such reasoning. */
  itemsOf({ tool_calls: calls, content }: Message): readonly object[] | undefined {
    const kept = calls === undefined ? undefined : this.kept.get(calls)
    return kept?.text === content ? kept.items : undefined
  }

  keep(answer: ModelAnswer, items: readonly object[]): void {
    this.kept.set(answer.toolCalls, { text: answer.text, items })
  }

  forget(): void {
    this.kept = new WeakMap()
  }
}

/** The order of one answer's items, as far as it has to be repeated. */
export class ReasoningTrail {
  private readonly reasoning = new Map<number, object>()
  private readonly callSlots: number[] = []
  private messageSlot: number | undefined

  constructor(private readonly carry: ReasoningCarry) {}

  /** Answers how many characters it keeps. */
  addReasoning(slot: number, { id, summary, encrypted_content }: Fields): number {
    if (typeof id !== 'string' || typeof encrypted_content !== 'string' || encrypted_content === '') return 0
    const item = { type: 'reasoning', id, summary: Array.isArray(summary) ? summary : [], encrypted_content }
    this.reasoning.set(slot, item)
    return encrypted_content.length
  }

  addCall(slot: number): void {
    if (!this.callSlots.includes(slot)) this.callSlots.push(slot)
  }

  addMessage(slot: number): void {
    this.messageSlot ??= slot
  }

  /** Ids of calls are those of the answer, which may differ from those on the wire. */
  keep(answer: ModelAnswer): void {
    const { toolCalls, text } = answer
    if (this.reasoning.size === 0 || toolCalls.length === 0 || toolCalls.length !== this.callSlots.length) return
    const items = new Map<number, object>(this.reasoning)
    for (const [index, call] of toolCalls.entries()) items.set(this.callSlots[index] ?? -1, functionCallItem(call))
    if (text !== '') items.set(this.messageSlot ?? -1, { type: 'message', role: 'assistant', content: text })
    const inOrder = [...items].sort(([a], [b]) => a - b).map(([, item]) => item)
    this.carry.keep(answer, inOrder)
  }
}
