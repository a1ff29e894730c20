import type { FailureCode } from '#contracts/errors'

/** What crosses between the threads: flat lists of these, because structured clone charges by the object. */
export type Value = string | number | null

/**
 * A batch is `[database, operation, argument count, ...arguments]` over and over; its reply has, in the same order,
 * `[OK, value count, ...values]` or `[FAILED, code, message]`.
 */
export type Batch = readonly Value[]

export const OK = 0
export const FAILED = 1

/** The database number of operations that concern no open database: opening and closing them. */
export const CONTROL = -1

/** Most events one row holds; what a reader asks for in the middle of a row is at most this far into it. */
export const MAX_STRETCH = 128

/** Thrown by an operation before it changed anything: its own failure, of no concern to the rest of the batch. */
export class Refusal extends Error {
  constructor(
    readonly code: FailureCode,
    message: string,
  ) {
    super(message)
  }
}

/** Reads the arguments of one operation in the order they were written. */
export class Arguments {
  #at: number
  constructor(
    readonly values: Batch,
    readonly start: number,
  ) {
    this.#at = start
  }
  text(): string {
    return this.values[this.#at++] as string
  }
  number(): number {
    return this.values[this.#at++] as number
  }
  value(): Value {
    return this.values[this.#at++] as Value
  }
  optionalText(): string | undefined {
    return (this.values[this.#at++] as string | null) ?? undefined
  }
  optionalNumber(): number | undefined {
    return (this.values[this.#at++] as number | null) ?? undefined
  }
}

/** Carries out one operation; its reply's values. A refusal is thrown before the first write. */
export type Handler = (args: Arguments) => readonly Value[]

export interface Operations {
  readonly reads: Readonly<Record<string, Handler>>
  readonly writes: Readonly<Record<string, Handler>>
  /** Forget what was remembered about rows: a transaction was rolled back. */
  readonly forget?: () => void
}
