/** Why a run in flight is to stop: its owner wants it cancelled, the daemon stops, or another process holds it now. */
export type InterruptCause = 'cancelled' | 'stopping' | 'lost'

/** The reason of an aborted run signal; thrown out of every wait of the run. */
export class Interrupt extends Error {
  override readonly name = 'AbortError'
  constructor(readonly why: InterruptCause) {
    super(`run ${why}`)
  }
}

export const isInterrupt = (error: unknown): error is Interrupt => error instanceof Interrupt

/** The promise, or the signal's reason as soon as it fires. What the promise does afterwards is ignored. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    work.catch(() => undefined)
    return await Promise.race([work, aborted])
  } finally {
    if (stop) signal.removeEventListener('abort', stop)
  }
}

const LONGEST_TIMER_MS = 2 ** 30

/** Waits until the clock says `atMs`, in slices a timer can hold; rejects with the signal's reason. */
export async function waitUntil(atMs: number, now: () => number, signal: AbortSignal): Promise<void> {
  for (let left = atMs - now(); left > 0; left = atMs - now()) await sleep(Math.min(left, LONGEST_TIMER_MS), signal)
}

/** A timer that ends with the signal. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
