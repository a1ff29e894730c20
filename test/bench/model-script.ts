/** What the model server answers until it is told otherwise. */
export interface ModelScript {
  /** Pieces of text in the final answer. */
  readonly chunks: number
  /** Pause between two pieces; 0 sends all in one write. */
  readonly delayMs: number
  /** Pause before the first byte. */
  readonly firstDelayMs: number
  /** Turns with a call of `tool` before the final answer. */
  readonly toolTurns: number
  /** `$I` in the arguments stands for the number of the turn, from 1. */
  readonly tool: { readonly name: string; readonly args: string }
}

/** What the model server counted since it was last told a script. */
export interface ModelCounts {
  readonly requests: number
  readonly toolTurns: number
  readonly maxInFlight: number
  /** Milliseconds since the epoch when the last answer was begun. */
  readonly lastSentAt: number
}

/** Messages to the model server's process; every one is answered with `ModelReply`. */
export type ModelOrder = { readonly script: ModelScript } | { readonly count: true }
export type ModelReply =
  | { readonly origin: string }
  | { readonly accepted: true }
  | { readonly counts: ModelCounts; readonly cpuMs: number }

export const PLAIN_SCRIPT: ModelScript = {
  chunks: 20,
  delayMs: 0,
  firstDelayMs: 0,
  toolTurns: 0,
  tool: { name: '', args: '{}' },
}
