import { rssMbOf, withCpu, withPeakRss } from '../process-tree.js'
import type { Seen } from '../run-client.js'
import { pause } from '../subject.js'
import { type Cell, type Figures, within } from './cell.js'

/** Callers that start runs at the same time: a listener's queue is no part of what is measured. */
const STARTERS = 64

/** 256 runs at once on a model that sends 50 pieces, one every 100 ms. */
export const measureHeld: Cell = context => measure(context, context.isSmoke ? 16 : 256, 'held256', 50, 100)

/** 2,000 at once on one that sends 10 pieces, one a second. */
export const measureManyHeld: Cell = context => measure(context, context.isSmoke ? 64 : 2_000, 'held2000', 10, 1_000)

async function measure(
  { subject, model }: Parameters<Cell>[0],
  count: number,
  name: string,
  chunks: number,
  delayMs: number,
): Promise<Figures> {
  await model.script({})
  for (let warm = 0; warm < 20; warm++) await subject.client.run()
  await pause(300)
  await model.script({ chunks, delayMs })
  const before = rssMbOf(subject.pid)
  const { value, peakMb } = await withPeakRss(subject.pid, () =>
    withCpu(subject.pid, () => within(90_000, `${count} held runs`, hold(subject.client, count))),
  )
  const { seen, errors } = value.value
  const { maxInFlight } = await model.counts()
  if (errors.length > 0) throw new Error(`${errors.length} of ${count} held runs failed: ${errors[0]}`)
  return {
    [`${name}MbPerRun`]: (peakMb - before) / count,
    [`${name}CpuMs`]: value.cpuMs / count,
    [`${name}WallMs`]: value.wallMs,
    [`${name}AtOnce`]: maxInFlight,
    [`${name}Unfinished`]: count - seen.filter(({ isCompleted }) => isCompleted).length,
    [`${name}EventsLost`]: seen.reduce((lost, each) => lost + Math.abs(each.lost), 0),
  }
}

async function hold(client: Parameters<Cell>[0]['subject']['client'], count: number) {
  const seen: Seen[] = []
  const errors: string[] = []
  const readers: Promise<void>[] = []
  let left = count
  const starter = async () => {
    while (left-- > 0) {
      try {
        const runId = await client.start()
        readers.push(
          client.follow(runId).then(
            each => void seen.push(each),
            (error: unknown) => void errors.push(String(error)),
          ),
        )
      } catch (error) {
        errors.push(String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: STARTERS }, starter))
  await Promise.all(readers)
  return { seen, errors }
}
