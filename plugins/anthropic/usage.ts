import type { Usage } from '#contracts/run/usage'

/**
 * Gathers what the events of one answer say of its usage. Every number is a total of the whole answer, so a later one
 * replaces an earlier one. Input tokens are counted without those of the cache there; our prompt tokens are all three.
 */
export class UsageTally {
  private input: number | undefined
  private written: number | undefined
  private read: number | undefined
  private output: number | undefined
  private thinking: number | undefined

  take(value: unknown): void {
    if (typeof value !== 'object' || value === null) return
    const usage = value as Readonly<Record<string, unknown>>
    const details = usage.output_tokens_details as { readonly thinking_tokens?: unknown } | null | undefined
    this.input = countOf(usage.input_tokens) ?? this.input
    this.written = countOf(usage.cache_creation_input_tokens) ?? this.written
    this.read = countOf(usage.cache_read_input_tokens) ?? this.read
    this.output = countOf(usage.output_tokens) ?? this.output
    this.thinking = countOf(details?.thinking_tokens) ?? this.thinking
  }

  /** Undefined when there was not one number of tokens. */
  usage(): Usage | undefined {
    const { input, written, read, output, thinking } = this
    if (input === undefined && written === undefined && read === undefined && output === undefined) return undefined
    const prompt = (input ?? 0) + (written ?? 0) + (read ?? 0)
    return {
      prompt_tokens: prompt,
      completion_tokens: output ?? 0,
      total_tokens: prompt + (output ?? 0),
      ...(read === undefined ? {} : { cached_prompt_tokens: read }),
      ...(written === undefined ? {} : { cache_write_prompt_tokens: written }),
      ...(thinking === undefined ? {} : { reasoning_tokens: thinking }),
    }
  }
}

const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
