import { setImmediate as nextTurn } from 'node:timers/promises'

/** Fires with `outer`, or when the time is over; only the latter makes `isOver` true. Call `end` when done. */
export interface Deadline {
  readonly signal: AbortSignal
  readonly isOver: () => boolean
  end(): void
}

export function startDeadline(milliseconds: number, outer: AbortSignal): Deadline {
  const timer = new AbortController()
  const handle = setTimeout(() => timer.abort(new Error('the time for searching is over')), milliseconds)
  return {
    signal: AbortSignal.any([outer, timer.signal]),
    isOver: () => timer.signal.aborted && !outer.aborted,
    end: () => clearTimeout(handle),
  }
}

const MAX_TURN_MS = 10

/** A loop that awaits this on each round lets others run at least every few milliseconds. */
export function createPause(): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < MAX_TURN_MS) return undefined
    return nextTurn().then(() => {
      since = performance.now()
    })
  }
}
