import { PEERS, type Peer } from './peers.js'
import { type BenchResults, valuesOf } from './results.js'
import { type Goal, ROWS, type Row } from './rows.js'
import { summarise } from './statistics.js'

const FLOOR: Peer = 'floor-daemon'

/**
 * The table of a run as Markdown: median with its range per peer, the ratio to `floor-daemon` (the median of the ratios
 * of the single rounds, so that a machine that slows down meanwhile does not show), and the goals.
 */
export function renderBench(results: BenchResults): string {
  const peers = PEERS.filter(peer => results.samples.some(sample => sample.peer === peer))
  const others = peers.filter(peer => peer !== FLOOR)
  const { machine, date, rounds } = results
  const head = ['figure', ...peers, ...others.map(peer => `${peer} / floor`), 'goal', '']
  const lines = ROWS.flatMap(row => {
    const cells = peers.map(peer => figureOf(results, peer, row))
    if (cells.every(cell => cell === '')) return []
    const ratios = others.map(peer => format(ratioOf(results, peer, row.key)))
    const title = row.unit === '' ? row.title : `${row.title}, ${row.unit}`
    return [[title, ...cells, ...ratios, row.goal ? goalText(row.goal) : '', verdict(results, row)]]
  })
  return [
    `${date.slice(0, 10)}, ${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, Linux ${machine.kernel}, Node ${machine.node}; load before ${results.loadBefore.toFixed(1)}; median of ${rounds} rounds (least to most).`,
    '',
    ...[head, head.map(() => '---'), ...lines].map(cells => `| ${cells.join(' | ')} |`),
  ].join('\n')
}

/** Rows whose goal was measured and missed. */
export const missedGoals = (results: BenchResults): readonly Row[] =>
  ROWS.filter(row => verdict(results, row) === 'missed')

function figureOf(results: BenchResults, peer: Peer, { key }: Row): string {
  const { count, median, min, max } = summarise([...valuesOf(results, peer, key).values()])
  if (count === 0) return ''
  return min === max ? format(median) : `${format(median)} (${format(min)} to ${format(max)})`
}

function ratioOf(results: BenchResults, peer: Peer, key: string): number {
  const floor = valuesOf(results, FLOOR, key)
  const ratios = [...valuesOf(results, peer, key)].map(([round, value]) => value / (floor.get(round) ?? Number.NaN))
  return summarise(ratios).median
}

function verdict(results: BenchResults, { key, goal }: Row): 'met' | 'missed' | '' {
  if (!goal) return ''
  const own = summarise([...valuesOf(results, 'ours', key).values()])
  // A count that must be zero must be zero in every round.
  const value = goal.of === 'floor' ? ratioOf(results, 'ours', key) : goal.atMost === 0 ? own.max : own.median
  if (!Number.isFinite(value)) return ''
  return value <= (goal.atMost ?? Number.POSITIVE_INFINITY) && value >= (goal.atLeast ?? 0) ? 'met' : 'missed'
}

function goalText({ of, atMost, atLeast }: Goal): string {
  const bound = atMost === undefined ? `≥ ${atLeast}` : `≤ ${atMost}`
  return of === 'floor' ? `${bound} x floor` : bound
}

function format(value: number): string {
  if (!Number.isFinite(value)) return ''
  const size = Math.abs(value)
  return value.toFixed(size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2)
}
