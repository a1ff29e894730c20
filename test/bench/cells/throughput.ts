import { withCpu } from '../process-tree.js'
import { median, quantile } from '../statistics.js'
import { pause } from '../subject.js'
import { type Cell, within } from './cell.js'

export const CONCURRENCY = [1, 8, 64, 256] as const

const WINDOW_MS = 2_000
const MAX_RUNS = 4_000

/** As many one-turn runs as go, this many at a time. */
export const measureThroughput: Cell = async ({ subject, model, isSmoke }) => {
  const figures: Record<string, number> = {}
  for (const concurrency of CONCURRENCY) {
    await model.script({})
    const walls: number[] = []
    let failed = 0
    let launched = 0
    const until = performance.now() + (isSmoke ? 300 : WINDOW_MS)
    const caller = async () => {
      while (performance.now() < until && launched++ < MAX_RUNS && failed < 20) {
        try {
          walls.push(await within(45_000, 'a run', subject.client.timedRun()))
        } catch {
          failed++
        }
      }
    }
    const { cpuMs, wallMs } = await withCpu(subject.pid, async () => {
      await Promise.all(Array.from({ length: concurrency }, caller))
    })
    figures[`runsPerSecond${concurrency}`] = walls.length / (wallMs / 1000)
    figures[`cpuMs${concurrency}`] = cpuMs / walls.length
    figures[`p50Ms${concurrency}`] = median(walls)
    figures[`p99Ms${concurrency}`] = quantile(walls, 0.99)
    figures[`failed${concurrency}`] = failed
    await pause(100)
  }
  return figures
}
