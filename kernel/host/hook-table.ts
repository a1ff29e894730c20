import { AsyncParallelHook, AsyncSeriesHook, SyncHook, SyncWaterfallHook } from 'tapable'
import { createHookTable, type HookTable } from '#contracts/hooks'
import type { TapRecord } from './contributions.js'
import type { Generation } from './generation.js'

interface AnyHook {
  readonly constructor: unknown
  tap(name: string, fn: (...args: unknown[]) => unknown): void
  tapPromise(name: string, fn: (...args: unknown[]) => Promise<unknown>): void
}

/** Hooks whose taps answer nothing: all they can do is watch. */
const WATCHING: ReadonlySet<unknown> = new Set([AsyncSeriesHook, AsyncParallelHook, SyncHook])
const SYNC: ReadonlySet<unknown> = new Set([SyncHook, SyncWaterfallHook])

/**
 * A fresh table with the taps of these generations, by stage, then plugin name, then order of declaration. What a tap
 * that only watches throws is noted with its plugin and goes no further; any other error reaches the caller.
 */
export function buildHookTable(generations: readonly Generation[]): HookTable {
  const table = createHookTable()
  const taps = generations.flatMap(generation => generation.contributions.taps.map(tap => ({ tap, generation })))
  taps.sort((a, b) => a.tap.stage - b.tap.stage || compareNames(a.tap.plugin, b.tap.plugin))
  for (const { tap, generation } of taps) {
    const hook = table[tap.hook] as unknown as AnyHook
    const fn = WATCHING.has(hook.constructor) ? watching(tap, generation) : tap.fn
    if (SYNC.has(hook.constructor)) hook.tap(tap.plugin, fn)
    else hook.tapPromise(tap.plugin, async (...args) => fn(...args))
  }
  return table
}

const compareNames = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function watching({ hook, fn }: TapRecord, generation: Generation): TapRecord['fn'] {
  const note = (error: unknown): void => generation.fault(`tap of ${hook}`, error)
  return (...args) => {
    try {
      const outcome = fn(...args)
      return outcome instanceof Promise ? outcome.then(() => undefined, note) : undefined
    } catch (error) {
      note(error)
    }
  }
}
