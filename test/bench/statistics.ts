/** A figure over several rounds. */
export interface Summary {
  readonly count: number
  readonly median: number
  readonly min: number
  readonly max: number
}

/** The value that `share` of the others do not exceed; NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** The middle value, or the mean of the middle two; NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Leaves out what is not a number. */
export function summarise(values: readonly number[]): Summary {
  const finite = values.filter(Number.isFinite)
  return { count: finite.length, median: median(finite), min: Math.min(...finite), max: Math.max(...finite) }
}
