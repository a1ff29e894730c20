import type { ModelAnswer, ModelFailure, ModelPart } from '#contracts/model/client'
import type { ToolCall } from '#contracts/run/message'
import type { Usage } from '#contracts/run/usage'
import type { FakeTurn } from './turn.js'

/** What a turn does: the parts it streams, then how it ends. */
export interface TurnScript {
  readonly parts: readonly ModelPart[]
  readonly ending: ModelAnswer | { readonly kind: 'failed'; readonly failure: ModelFailure }
}

/** Content without deltas is streamed in at most this many pieces. */
const MAX_PIECES = 8
const RETRYABLE: ReadonlySet<number> = new Set([429, 500, 502, 503, 529])

/** The answer of a daemon whose turns ran out. */
export const EXHAUSTED: TurnScript = Object.freeze({
  parts: [],
  ending: { kind: 'answered' as const, text: '', toolCalls: [], finish: '' as const },
})

/** Reads a turn of the file into what a client does with it. `serial` makes missing call ids unique. */
export function scriptOf(turn: FakeTurn, serial: number): TurnScript {
  const streamed = turn.deltas === undefined ? undefined : streamedParts(turn.deltas, serial)
  const joined = streamed === undefined ? undefined : joinedParts(streamed)
  const text = turn.content ?? joined?.text ?? ''
  const reasoning = turn.reasoning ?? joined?.reasoning ?? ''
  const stated = turn.tool_calls === undefined ? undefined : statedCalls(turn.tool_calls, serial)
  const toolCalls = stated ?? joined?.toolCalls ?? []
  const parts = [
    ...(reasoning === '' || joined?.reasoning ? [] : [{ kind: 'thinking' as const, text: reasoning }]),
    ...(streamed ?? []),
    ...(joined?.text ? [] : pieces(text).map(piece => ({ kind: 'text' as const, text: piece }))),
    ...(joined?.toolCalls.length
      ? []
      : toolCalls.map((call, index) => ({ kind: 'tool_call' as const, index, ...call }))),
  ]
  if (turn.error !== undefined) return { parts, ending: { kind: 'failed', failure: failureOf(turn.error) } }
  const usage = turn.usage && usageOf(turn.usage)
  return {
    parts,
    ending: {
      kind: 'answered',
      text,
      toolCalls,
      finish: toolCalls.length > 0 ? 'tool_calls' : 'stop',
      ...(reasoning === '' ? {} : { reasoning }),
      ...(usage === undefined ? {} : { usage }),
      ...(turn.cost_usd === undefined ? {} : { costUsd: turn.cost_usd }),
      ...(turn.cost_status === undefined ? {} : { costStatus: turn.cost_status }),
    },
  }
}

function streamedParts(deltas: NonNullable<FakeTurn['deltas']>, serial: number): ModelPart[] {
  const taken = new Set<string>()
  const begun = new Set<number>()
  return deltas.flatMap(({ content, reasoning, tool_call: call }) => {
    const parts: ModelPart[] = []
    if (reasoning) parts.push({ kind: 'thinking', text: reasoning })
    if (content) parts.push({ kind: 'text', text: content })
    if (call !== undefined) {
      const index = call.index ?? 0
      const first = begun.has(index)
        ? {}
        : { id: uniqueId(call.id, serial, index, taken), ...(call.name ? { name: call.name } : {}) }
      begun.add(index)
      parts.push({ kind: 'tool_call', index, ...first, arguments: call.arguments ?? '' })
    }
    return parts
  })
}

function joinedParts(parts: readonly ModelPart[]) {
  let text = ''
  let reasoning = ''
  const calls = new Map<number, ToolCall>()
  for (const part of parts)
    if (part.kind === 'text') text += part.text
    else if (part.kind === 'thinking') reasoning += part.text
    else {
      const call = calls.get(part.index) ?? { id: part.id ?? '', name: part.name ?? '', arguments: '' }
      calls.set(part.index, { ...call, arguments: call.arguments + part.arguments })
    }
  return { text, reasoning, toolCalls: [...calls].sort(([a], [b]) => a - b).map(([, call]) => call) }
}

function statedCalls(calls: NonNullable<FakeTurn['tool_calls']>, serial: number): ToolCall[] {
  const taken = new Set<string>()
  return calls.map(({ id, name, arguments: args = '{}' }, index) => ({
    id: uniqueId(id, serial, index, taken),
    name,
    arguments: typeof args === 'string' ? args : JSON.stringify(args),
  }))
}

function uniqueId(stated: string | undefined, serial: number, index: number, taken: Set<string>): string {
  const id = stated && !taken.has(stated) ? stated : `call_fake_${serial}_${index}`
  taken.add(id)
  return id
}

/** Cuts at word starts, so that streaming shows without making a part of every word of a long text. */
function pieces(text: string): string[] {
  const words = text.match(/\s*\S+\s*$|\s*\S+/g) ?? (text === '' ? [] : [text])
  const perPiece = Math.ceil(words.length / MAX_PIECES)
  const count = perPiece === 0 ? 0 : Math.ceil(words.length / perPiece)
  return Array.from({ length: count }, (_, at) => words.slice(at * perPiece, (at + 1) * perPiece).join(''))
}

function usageOf({ prompt = 0, completion = 0, cached, reasoning }: NonNullable<FakeTurn['usage']>): Usage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached === undefined ? {} : { cached_prompt_tokens: cached }),
    ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
  }
}

function failureOf(error: NonNullable<FakeTurn['error']>): ModelFailure {
  if (typeof error === 'string') return { category: 'other', message: error }
  const { status, category, retry_after_ms } = error
  return {
    category: category ?? categoryOf(status),
    message: error.message ?? `the fake provider answered ${status ?? 'with an error'}`,
    ...(status === undefined ? {} : { status }),
    ...(retry_after_ms === undefined ? {} : { retryAfterMs: retry_after_ms }),
  }
}

function categoryOf(status: number | undefined): ModelFailure['category'] {
  if (status === undefined) return 'other'
  if (RETRYABLE.has(status)) return 'retryable'
  if (status === 413) return 'context_length'
  return status === 401 || status === 403 ? 'auth' : 'other'
}
