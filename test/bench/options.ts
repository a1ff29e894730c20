import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { PEERS, type Peer } from './peers.js'

export const CELLS = ['turn', 'tools', 'held', 'held2000', 'throughput', 'fanout', 'history', 'reload'] as const
export type CellName = (typeof CELLS)[number]

/** What a run of the bench shall do. */
export interface BenchOptions {
  readonly rounds: number
  readonly cells: ReadonlySet<CellName>
  readonly peers: readonly Peer[]
  readonly isSmoke: boolean
  /** Everything in every round, and 1,000 reloads. */
  readonly isFull: boolean
  readonly out: string
  readonly readme: string | undefined
}

export const USAGE = `npm run bench -- [options]

  --rounds N      rounds, peers interleaved (5)
  --cells a,b     ${CELLS.join(', ')} (all); cold start and idle memory always
  --peers a,b     ${PEERS.join(', ')} (all); ratios need floor-daemon
  --smoke         one short round that shows that everything works; its figures mean nothing
  --full          everything in every round, and 1,000 reloads
  --out FILE      the figures as JSON (bench-results/<date>.json)
  --readme        puts the table into README.md`

/** Throws with a sentence that says what is wrong. */
export function parseOptions(args: readonly string[], now: Date): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string' },
      cells: { type: 'string', default: CELLS.join() },
      peers: { type: 'string', default: PEERS.join() },
      smoke: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      out: { type: 'string', default: `bench-results/${now.toISOString().slice(0, 10)}.json` },
      readme: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5))
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 50) throw new Error('--rounds is a whole number from 1 to 50')
  return {
    rounds,
    cells: new Set(among('--cells', values.cells, CELLS)),
    peers: among('--peers', values.peers, PEERS),
    isSmoke: values.smoke,
    isFull: values.full,
    out: resolve(values.out),
    readme: values.readme ? resolve('README.md') : undefined,
  }
}

function among<T extends string>(option: string, text: string, known: readonly T[]): readonly T[] {
  return text.split(',').map(name => {
    const found = known.find(each => each === name)
    if (found === undefined) throw new Error(`${option}: ${name} is none of ${known.join(', ')}`)
    return found
  })
}
