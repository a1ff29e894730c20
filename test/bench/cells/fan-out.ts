import { withCpu } from '../process-tree.js'
import { type Cell, within } from './cell.js'

const READERS = [1, 50] as const
/** Time for every reader to attach before the first delta. */
const HEAD_START_MS = 500

/** One run of 2,000 deltas that arrive at once, to 1 and to 50 readers; timed from the model's first byte. */
export const measureFanOut: Cell = async ({ subject: { pid, client }, model, isSmoke }) => {
  const figures: Record<string, number> = {}
  for (const readers of READERS) {
    await model.script({ chunks: isSmoke ? 100 : 2_000, firstDelayMs: HEAD_START_MS })
    const { value: seen, cpuMs } = await withCpu(pid, async () => {
      const runId = await client.start()
      return within(40_000, 'the fan-out', Promise.all(Array.from({ length: readers }, () => client.follow(runId))))
    })
    const endedAt = performance.timeOrigin + performance.now()
    const { lastSentAt } = await model.counts()
    if (seen.some(each => !each.isCompleted || each.lost !== 0)) throw new Error('a reader missed events')
    const delivered = seen.reduce((sum, { frames }) => sum + frames, 0)
    figures[`eventsPerSecond${readers}`] = delivered / ((endedAt - lastSentAt) / 1000)
    figures[`deliveryCpuUs${readers}`] = (cpuMs * 1000) / delivered
  }
  return figures
}
