import { isFailure } from '#contracts/errors'

const RETRY_MS = [50, 100, 250, 500, 1000]

/**
 * Asks a store again for as long as it says that it cannot answer at the moment (`store_unavailable`); everything else it
 * says is passed on. `waits` is told of the first refusal. Once the signal has fired it is not asked again.
 */
export async function untilStored<T>(
  work: () => Promise<T>,
  waits: (error: unknown) => void,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isFailure(error, 'store_unavailable')) throw error
      if (attempt === 0) waits(error)
      signal?.throwIfAborted()
      await pause(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 0)
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
