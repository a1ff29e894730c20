import { Failure } from '#contracts/errors'
import { sleep } from '#contracts/sleep'

/** Settles like the work, or rejects with the signal's reason as soon as it fires. What the work does afterwards is ignored. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

const LONGEST_TIMER_MS = 2 ** 30

/** Waits until the clock says `atMs`, in slices a timer can hold; rejects with the signal's reason. */
export async function waitUntil(atMs: number, now: () => number, signal: AbortSignal): Promise<void> {
  for (let left = atMs - now(); left > 0; left = atMs - now()) await sleep(Math.min(left, LONGEST_TIMER_MS), signal)
}

/**
 * Settles like the work, or fails with `timeout` once the limit has passed. What the work does afterwards is ignored. Holds
 * the process until then.
 */
export async function withLimit<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Failure('timeout', `${what} took longer than ${limitMs} ms`)), limitMs)
  try {
    return await unlessAborted(work, late.signal)
  } finally {
    clearTimeout(timer)
  }
}
