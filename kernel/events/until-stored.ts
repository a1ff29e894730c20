import { setTimeout as pause } from 'node:timers/promises'
import { isFailure, messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'

const RETRY_MS = [50, 100, 250, 500]
const LONGEST_RETRY_MS = 1000

/**
 * Asks a store again for as long as it says that it cannot answer at the moment (`store_unavailable`): a run waits, it does
 * not end for that. Everything else the store says is passed on. Once the signal has fired it is not asked again.
 */
export async function untilStored<T>(
  run: { readonly id: string; readonly log: PluginLog },
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isFailure(error, 'store_unavailable')) throw error
      if (attempt === 0) run.log.warn({ run: run.id, error: messageOf(error) }, 'run waits for its store')
      signal?.throwIfAborted()
      await pause(RETRY_MS[attempt] ?? LONGEST_RETRY_MS)
    }
  }
}
