import type { Usage } from '#contracts/run/usage'

type Fields = Readonly<Record<string, unknown>>

/** Reads any of the forms servers report usage in; undefined when there is not one number in it. */
export function parseUsage(value: unknown): Usage | undefined {
  if (!isFields(value)) return undefined
  const prompt = firstCount(value.prompt_tokens, value.input_tokens)
  const completion = firstCount(value.completion_tokens, value.output_tokens)
  const total = firstCount(value.total_tokens)
  if (prompt === undefined && completion === undefined && total === undefined) return undefined
  const input = fieldsOf(value.prompt_tokens_details ?? value.input_tokens_details)
  const output = fieldsOf(value.completion_tokens_details ?? value.output_tokens_details)
  return {
    prompt_tokens: prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0)),
    completion_tokens: completion ?? Math.max(0, (total ?? 0) - (prompt ?? 0)),
    total_tokens: total ?? (prompt ?? 0) + (completion ?? 0),
    ...named('cached_prompt_tokens', firstCount(input.cached_tokens, value.prompt_cache_hit_tokens)),
    ...named('cache_write_prompt_tokens', firstCount(input.cache_write_tokens, value.cache_creation_input_tokens)),
    ...named('reasoning_tokens', firstCount(output.reasoning_tokens)),
    ...named('input_audio_tokens', firstCount(input.audio_tokens)),
    ...named('output_audio_tokens', firstCount(output.audio_tokens)),
  }
}

/** A total in US dollars that the provider states itself, at the root of a chunk or inside its usage. */
export function parseStatedCost(chunk: Fields): number | undefined {
  const usage = fieldsOf(chunk.usage)
  return [chunk.cost_usd, chunk.cost, usage.cost_usd, usage.cost].find(
    (value): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  )
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

const firstCount = (...values: readonly unknown[]): number | undefined =>
  values.find((value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0)

const named = <K extends string>(key: K, value: number | undefined): { readonly [name in K]?: number } =>
  value === undefined ? {} : ({ [key]: value } as { readonly [name in K]?: number })
