import type { Message, ToolCall } from '#contracts/run/message'
import type { JournalEntry } from '#contracts/store/run-store'

/** What a former process left of a run, read from its journal. */
export interface Recovered {
  /** The run's own messages, or the whole transcript when `isRewritten`. */
  readonly own: readonly Message[]
  readonly isRewritten: boolean
  readonly notes: readonly (readonly [string, unknown])[]
  /** The last step whose turn was answered. */
  readonly step: number
  /** Mutating calls that may have started. */
  readonly intended: ReadonlySet<string>
}

/** Reads a journal in the order it was written. */
export function recover(journal: readonly JournalEntry[]): Recovered {
  let own: Message[] = []
  let isRewritten = false
  const notes = new Map<string, unknown>()
  const intended = new Set<string>()
  let step = 0
  for (const entry of journal) {
    switch (entry.kind) {
      case 'message':
        own.push(entry.message)
        if (entry.message.role === 'assistant') step = entry.step
        break
      case 'rewrite':
        own = [...entry.messages]
        isRewritten = true
        break
      case 'intent':
        intended.add(entry.call_id)
        break
      case 'note':
        notes.set(entry.key, entry.value)
        break
    }
  }
  return { own, isRewritten, notes: [...notes], step, intended }
}

/** Calls of the last assistant message that have no result yet: where a tool phase was cut short. */
export function unansweredCalls(transcript: readonly Message[]): readonly ToolCall[] {
  const answered = new Set<string>()
  for (let index = transcript.length - 1; index >= 0; index--) {
    const message = transcript[index] as Message
    if (message.role === 'tool' && message.tool_call_id !== undefined) answered.add(message.tool_call_id)
    else if (message.role === 'assistant') return (message.tool_calls ?? []).filter(call => !answered.has(call.id))
    else if (message.role === 'user' && !message.is_meta) return []
  }
  return []
}
