import { type Static, Type } from '@sinclair/typebox'

const count = Type.Integer({ minimum: 0 })

/** Tokens of one turn, or summed over turns, as the provider reported them. */
export const Usage = Type.Object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  cached_prompt_tokens: Type.Optional(count),
  cache_write_prompt_tokens: Type.Optional(count),
  reasoning_tokens: Type.Optional(count),
  input_audio_tokens: Type.Optional(count),
  output_audio_tokens: Type.Optional(count),
})
export type Usage = Readonly<Static<typeof Usage>>

/** Totals of a run as the Run object and terminal events carry them. */
export const UsageTotals = Type.Object({
  prompt_tokens_total: count,
  completion_tokens_total: count,
  total_tokens: count,
  last_turn_tokens: count,
})
export type UsageTotals = Readonly<Static<typeof UsageTotals>>

export const NO_USAGE: Usage = Object.freeze({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })

/** What a usage may tell besides its three sums. */
export type UsageDetails = Omit<Usage, 'prompt_tokens' | 'completion_tokens' | 'total_tokens'>

const DETAILS = [
  'cached_prompt_tokens',
  'cache_write_prompt_tokens',
  'reasoning_tokens',
  'input_audio_tokens',
  'output_audio_tokens',
] as const

/** The sum of two usages; a detail counter appears once either side has it. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Record<string, number> = {
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
  }
  for (const key of DETAILS) if (a[key] !== undefined || b[key] !== undefined) sum[key] = (a[key] ?? 0) + (b[key] ?? 0)
  return sum as unknown as Usage
}

/** The detail counters a usage has. */
export const detailsOf = (usage: Usage): UsageDetails =>
  Object.fromEntries(DETAILS.flatMap(key => (usage[key] === undefined ? [] : [[key, usage[key]]])))
