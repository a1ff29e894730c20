import { sleep } from '#contracts/sleep'

/** Time and chance, as the refreshing sees them. */
export interface Clock {
  /** Monotonic milliseconds. */
  now(): number
  /** Resolves after the time, or at once when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** From 0 up to, not including, 1. */
  random(): number
}

export const systemClock: Clock = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (ms, signal) => sleep(ms, signal).catch(() => undefined),
}
