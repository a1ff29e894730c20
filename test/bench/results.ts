import { cpus, loadavg, release, totalmem } from 'node:os'
import type { Figures } from './cells/cell.js'
import type { Peer } from './peers.js'

/** What one round found out about one peer. */
export interface Sample {
  readonly peer: Peer
  readonly round: number
  readonly figures: Figures
  /** Cells that did not come to an end, with the reason. */
  readonly errors: Readonly<Record<string, string>>
}

/** Where figures were taken. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly kernel: string
  readonly node: string
}

/** One run of the bench, as its JSON file holds it. */
export interface BenchResults {
  readonly date: string
  readonly machine: Machine
  /** Load before the first round: other work on the machine shows here. */
  readonly loadBefore: number
  readonly rounds: number
  readonly samples: readonly Sample[]
}

export const thisMachine = (): Machine => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  kernel: release(),
  node: process.version,
})

export const loadNow = (): number => loadavg()[0] ?? 0

/** The values of one figure of one peer, by round. */
export function valuesOf({ samples }: BenchResults, peer: Peer, key: string): ReadonlyMap<number, number> {
  const found = samples.filter(sample => sample.peer === peer && Number.isFinite(sample.figures[key]))
  return new Map(found.map(({ round, figures }) => [round, figures[key] as number]))
}
