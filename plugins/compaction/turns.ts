import type { Message } from '#contracts/run/message'
import { isMarker } from './marker.js'

/** Messages `start` to before `end`: one of the user, or one of the model with the results of its calls. */
export interface Turn {
  readonly start: number
  readonly end: number
}

/** The messages a compaction may touch: `from` to before `to`. What earlier compactions left lies before `start`. */
export interface Zone {
  readonly from: number
  readonly start: number
  readonly to: number
  readonly turns: number
}

/**
 * Everything after the leading system messages but for the last `keepLast` turns; what an earlier compaction left there
 * is part of it when there is anything else. The turn whose calls are being
 * answered is never in it, so that results to come find their call.
 */
export function zoneOf(messages: readonly Message[], keepLast: number): Zone {
  const { from, start } = prefixOf(messages)
  const turns = turnsOf(messages, start)
  const kept = Math.max(turns.length - keepLast, 0)
  const open = openTurn(messages, turns)
  const count = open === undefined ? kept : Math.min(kept, open)
  if (count === 0) return { from, start: from, to: from, turns: 0 }
  return { from, start, to: turns[count]?.start ?? messages.length, turns: count }
}

/** Leading system messages end at `start`; the first marker among them is at `from`. */
function prefixOf(messages: readonly Message[]): { readonly from: number; readonly start: number } {
  const first = messages.findIndex(({ role }) => role !== 'system')
  const start = first < 0 ? messages.length : first
  const marker = messages.findIndex(isMarker)
  return { from: marker < 0 ? start : Math.min(marker, start), start }
}

/** What belongs to no turn of its own (system messages, results without a call) goes with the turn before it. */
function turnsOf(messages: readonly Message[], from: number): readonly Turn[] {
  const turns: { start: number; end: number }[] = []
  for (let index = from; index < messages.length; ) {
    const { role } = messages[index] as Message
    const last = turns.at(-1)
    const end = role === 'assistant' ? endOfAnswers(messages, index) : index + 1
    if (last && role !== 'user' && role !== 'assistant') last.end = end
    else turns.push({ start: index, end })
    index = end
  }
  return turns
}

/** Follow-ups of tools may stand between the results of one turn. */
function endOfAnswers(messages: readonly Message[], at: number): number {
  const ids = new Set(messages[at]?.tool_calls?.map(({ id }) => id))
  let end = at + 1
  if (ids.size === 0) return end
  for (let index = end; index < messages.length; index++) {
    const message = messages[index] as Message
    if (message.role === 'assistant') break
    if (message.role === 'tool' && ids.has(message.tool_call_id ?? '')) end = index + 1
  }
  return end
}

/** Index of the model's last turn when not all of its calls are answered yet. */
function openTurn(messages: readonly Message[], turns: readonly Turn[]): number | undefined {
  const last = turns.findLastIndex(({ start }) => messages[start]?.role === 'assistant')
  const turn = turns[last]
  if (!turn) return undefined
  const answered = new Set(messages.slice(turn.start, turn.end).map(message => message.tool_call_id))
  const calls = messages[turn.start]?.tool_calls ?? []
  return calls.every(({ id }) => answered.has(id)) ? undefined : last
}
