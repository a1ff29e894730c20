import { randomUUID } from 'node:crypto'
import { withCpu } from '../process-tree.js'
import { median } from '../statistics.js'
import { type Cell, within } from './cell.js'

export const HISTORY_SIZES = [10, 100, 1_000] as const

const RUNS = 15
const SEED_LIMIT_MS = 60_000

/** A short turn in a conversation that holds so many messages already. */
export const measureHistory: Cell = async ({ subject, model, isSmoke }) => {
  await model.script({ chunks: 1 })
  const figures: Record<string, number> = {}
  const conversationId = randomUUID()
  const run = () => within(30_000, 'a run', subject.client.timedRun(conversationId))
  let messages = 0
  const until = performance.now() + SEED_LIMIT_MS
  for (const size of isSmoke ? [10] : HISTORY_SIZES) {
    for (; messages < size; messages += 2) {
      if (performance.now() > until) throw new Error(`only ${messages} messages were stored in ${SEED_LIMIT_MS} ms`)
      await run()
    }
    const walls: number[] = []
    const { cpuMs } = await withCpu(subject.pid, async () => {
      while (walls.length < RUNS) walls.push(await run())
    })
    messages += RUNS * 2
    figures[`history${size}Ms`] = median(walls)
    figures[`history${size}CpuMs`] = cpuMs / RUNS
  }
  const { history10Ms = Number.NaN, history1000Ms = Number.NaN } = figures
  return { ...figures, historyGrowth: history1000Ms / history10Ms }
}
