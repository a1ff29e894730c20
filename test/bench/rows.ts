import { CONCURRENCY } from './cells/throughput.js'

/** What a figure should be: at most or at least so much, of the floor's or of itself. */
export interface Goal {
  readonly of: 'floor' | 'itself'
  readonly atMost?: number
  readonly atLeast?: number
}

/** One line of the table. */
export interface Row {
  readonly key: string
  readonly title: string
  readonly unit: string
  readonly goal?: Goal
}

const row = (key: string, title: string, unit: string, goal?: Goal): Row => ({
  key,
  title,
  unit,
  ...(goal && { goal }),
})
const timesFloor = (atMost: number): Goal => ({ of: 'floor', atMost })
const shareOfFloor = (atLeast: number): Goal => ({ of: 'floor', atLeast })
const upTo = (atMost: number): Goal => ({ of: 'itself', atMost })

const CPU_GOALS: Readonly<Record<number, Goal>> = { 64: timesFloor(1.6) }
const RATE_GOALS: Readonly<Record<number, Goal>> = { 64: shareOfFloor(0.6), 256: shareOfFloor(0.6) }
const TAIL_GOALS: Readonly<Record<number, Goal>> = { 256: timesFloor(0.5) }

/** Every line, in the order it is printed, with the goals of the project. */
export const ROWS: readonly Row[] = [
  row('coldStartMs', 'cold start to /healthz', 'ms', timesFloor(1)),
  row('coldStartCpuMs', 'cold start, CPU', 'ms'),
  row('idleMb', 'idle memory (RSS)', 'MB', timesFloor(1.25)),
  row('turnP50Ms', 'one turn, p50', 'ms', timesFloor(1.5)),
  row('turnP99Ms', 'one turn, p99', 'ms', timesFloor(1.5)),
  row('turnCpuMs', 'one turn, CPU (not yet hot)', 'ms', timesFloor(1.6)),
  row('readStepMs', 'tool step in process', 'ms', timesFloor(2)),
  row('readStepCpuMs', 'tool step in process, CPU', 'ms', timesFloor(2)),
  row('shellStepMs', 'tool step in a shell', 'ms'),
  row('shellStepCpuMs', 'tool step in a shell, CPU', 'ms', timesFloor(1.25)),
  ...CONCURRENCY.flatMap(count => [
    row(`runsPerSecond${count}`, `runs/s, ${count} at once`, '/s', RATE_GOALS[count]),
    row(`cpuMs${count}`, `CPU per run, ${count} at once`, 'ms', CPU_GOALS[count]),
    row(`p50Ms${count}`, `p50, ${count} at once`, 'ms'),
    row(`p99Ms${count}`, `p99, ${count} at once`, 'ms', TAIL_GOALS[count]),
    row(`failed${count}`, `failed, ${count} at once`, '', upTo(0)),
  ]),
  row('held256MbPerRun', 'memory per held run, 256 held', 'MB', timesFloor(1.6)),
  row('held256CpuMs', 'CPU per held run, 256 held, 50 deltas', 'ms', timesFloor(1.3)),
  row('held256WallMs', 'wall of 256 held runs', 'ms', timesFloor(1.1)),
  row('held256EventsLost', 'events lost, 256 held', '', upTo(0)),
  row('held2000MbPerRun', 'memory per held run, 2,000 held', 'MB'),
  row('held2000CpuMs', 'CPU per held run, 2,000 held, 10 deltas', 'ms'),
  row('held2000WallMs', 'wall of 2,000 held runs', 'ms'),
  row('held2000AtOnce', 'held at once', ''),
  row('held2000Unfinished', 'unfinished of 2,000', '', upTo(0)),
  row('held2000EventsLost', 'events lost, 2,000 held', '', upTo(0)),
  row('eventsPerSecond1', 'events/s, 1 reader', '/s', shareOfFloor(0.7)),
  row('deliveryCpuUs1', 'CPU per event, 1 reader', 'µs', timesFloor(1.4)),
  row('eventsPerSecond50', 'events/s, 50 readers', '/s', shareOfFloor(0.8)),
  row('deliveryCpuUs50', 'CPU per delivery, 50 readers', 'µs', timesFloor(1.3)),
  row('history10Ms', 'turn at 10 stored messages, p50', 'ms'),
  row('history100Ms', 'turn at 100 stored messages, p50', 'ms'),
  row('history1000Ms', 'turn at 1,000 stored messages, p50', 'ms', timesFloor(1.5)),
  row('historyGrowth', 'turn at 1,000 against 10', 'x', upTo(1.2)),
  row('reloadP50Ms', 'reload of one plugin among 20, p50', 'ms', upTo(60)),
  row('reloadHeapKb', 'heap growth per reload', 'kB', upTo(100)),
  row('reloadEpochsAlive', 'epochs alive after the reloads', '', upTo(1)),
]
