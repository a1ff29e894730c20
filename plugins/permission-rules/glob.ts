/** A compiled argument pattern. */
export interface Glob {
  /** How many of its characters stand for themselves. */
  readonly literals: number
  readonly hasWildcard: boolean
  matches(text: string): boolean
}
