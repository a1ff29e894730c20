import { withCpu } from '../process-tree.js'
import { median, quantile } from '../statistics.js'
import { type Cell, within } from './cell.js'

const RUNS = 100
const LIMIT_MS = 4_000

/** One run at a time: one prompt, one model call, 20 pieces of text. The first cell, so the code is not yet compiled hot. */
export const measureTurn: Cell = async ({ subject, model, isSmoke }) => {
  await model.script({})
  for (let warm = 0; warm < (isSmoke ? 2 : 20); warm++) await within(30_000, 'a run', subject.client.run())
  const walls: number[] = []
  const until = performance.now() + LIMIT_MS
  const driver = process.cpuUsage()
  const modelMs = await model.cpuMs()
  const { cpuMs } = await withCpu(subject.pid, async () => {
    while (walls.length < (isSmoke ? 5 : RUNS) && performance.now() < until)
      walls.push(await within(30_000, 'a run', subject.client.timedRun()))
  })
  const { user, system } = process.cpuUsage(driver)
  return {
    turnP50Ms: median(walls),
    turnP99Ms: quantile(walls, 0.99),
    turnCpuMs: cpuMs / walls.length,
    turnDriverCpuMs: (user + system) / 1000 / walls.length,
    turnModelCpuMs: ((await model.cpuMs()) - modelMs) / walls.length,
  }
}
