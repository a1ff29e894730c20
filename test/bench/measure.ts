import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '#contracts/errors'
import type { Cell, Figures } from './cells/cell.js'
import { measureFanOut } from './cells/fan-out.js'
import { measureHeld, measureManyHeld } from './cells/held.js'
import { measureHistory } from './cells/history.js'
import { measureReload } from './cells/reload.js'
import { measureThroughput } from './cells/throughput.js'
import { measureTools } from './cells/tools.js'
import { measureTurn } from './cells/turn.js'
import type { BenchModel } from './model.js'
import type { BenchOptions, CellName } from './options.js'
import { type Peer, startPeer } from './peers.js'
import { cpuMsOf, rssMbOf } from './process-tree.js'
import type { Sample } from './results.js'
import { pause } from './subject.js'

/** In this order: what leaves a grown heap behind comes after what looks at memory. */
const CELLS: Readonly<Record<Exclude<CellName, 'reload'>, Cell>> = {
  turn: measureTurn,
  tools: measureTools,
  held: measureHeld,
  held2000: measureManyHeld,
  throughput: measureThroughput,
  fanout: measureFanOut,
  history: measureHistory,
}

const IDLE_AFTER_MS = 1_500
const RELOADS = 100
const MANY_RELOADS = 1_000

/** Starts one peer, runs the wanted cells on it, and stops it. A cell that fails is reported and leaves the others be. */
export async function measurePeer(
  peer: Peer,
  round: number,
  model: BenchModel,
  options: BenchOptions,
): Promise<Sample> {
  const dir = await mkdtemp(join(tmpdir(), `runwright-bench-${peer}-`))
  const errors: Record<string, string> = {}
  let figures: Figures = {}
  const attempt = async (name: string, work: () => Promise<Figures>): Promise<void> => {
    try {
      figures = { ...figures, ...(await work()) }
    } catch (error) {
      errors[name] = messageOf(error)
    }
  }
  const isOnceOnly = round > 1 && !options.isFull
  try {
    await attempt('start', async () => {
      await model.script({})
      const subject = await startPeer(peer, dir, model.baseUrl)
      try {
        figures = { coldStartMs: subject.coldStartMs, coldStartCpuMs: cpuMsOf(subject.pid) }
        await pause(IDLE_AFTER_MS)
        figures = { ...figures, idleMb: rssMbOf(subject.pid) }
        for (const [name, cell] of Object.entries(CELLS))
          if (options.cells.has(name as CellName) && !(name === 'held2000' && isOnceOnly))
            await attempt(name, () => cell({ subject, model, isSmoke: options.isSmoke }))
      } finally {
        await subject.stop()
      }
      return figures
    })
    if (peer === 'ours' && options.cells.has('reload') && !isOnceOnly)
      await attempt('reload', () =>
        measureReload(join(dir, 'reload'), options.isSmoke ? 3 : options.isFull ? MANY_RELOADS : RELOADS),
      )
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  return { peer, round, figures, errors }
}
