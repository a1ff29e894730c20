/**
 * A daemon in a process of its own (`node --expose-gc`) that is reloaded again and again while runs are in flight. Takes
 * the number of reloads, prints what was left at the end as one line of JSON.
 */
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { bootOnCopy } from './reload-bench.js'
import { probePlugin, wordsIn } from './reload-probe.js'

/** What a storm of reloads did and left. */
export interface StormReport {
  readonly reloads: number
  /** Runs that did not complete, or met more than one generation. */
  readonly wrongRuns: number
  readonly runs: number
  readonly epochsAlive: number
  readonly epochsAliveAtMost: number
  /** Database threads started after the first reload. */
  readonly newThreads: number
  /** Open handles and listeners of the process by kind, after a tenth of the reloads and at the end. */
  readonly handles: readonly [Readonly<Record<string, number>>, Readonly<Record<string, number>>]
  readonly heapGrowthBytes: number
  /** Median. */
  readonly reloadMs: number
  /** Epochs made by touching every file many times; none should be. */
  readonly touches: number
  readonly epochsByTouching: number
  /** What was logged as an error. */
  readonly errors: readonly unknown[]
}

const MOST_RUNS = 250

if (process.argv[1] === import.meta.filename) {
  process.stdout.write(`${JSON.stringify(await storm(Number(process.argv[2]), Number(process.argv[3] ?? 0)))}\n`)
  // What is left over is in the report.
  process.exit()
}

async function storm(reloads: number, touches: number): Promise<StormReport> {
  const bench = await bootOnCopy({
    isDurable: true,
    // There from the start, so that the watch has as many files at the end as at the beginning.
    plugins: { probe: probePlugin('w0'), sqlite: { 'edited.js': '' } },
    settings: { watch_enabled: touches > 0, watch_interval_seconds: 1 },
  })
  const { host } = bench.daemon
  const collectGarbage = Reflect.get(globalThis, 'gc') as () => void
  let newThreads = 0
  process.on('worker', () => {
    newThreads += 1
  })
  const runs = { all: 0, wrong: 0 }
  const inFlight = new Set<Promise<void>>()
  const follow = async (word: string): Promise<void> => {
    const last = (await bench.run({ prompt: 'go', provider_name: 'probe' })).at(-1)
    runs.all += 1
    if (last?.type !== 'run.completed' || wordsIn(last.payload?.output).join() !== `<${word}>`) runs.wrong += 1
  }
  const settle = async () => {
    await Promise.all(inFlight)
    const until = performance.now() + 30_000
    while (host.epochsAlive > 1 && performance.now() < until) await wait(20)
    // Timers of what has just ended go within seconds; those that stay are leaks.
    for (let turn = 0; turn < 300 && handlesNow().Timeout; turn += 1) await wait(20)
    for (let turn = 0; turn < 5; turn += 1) {
      collectGarbage()
      await wait(10)
    }
    return { heap: process.memoryUsage().heapUsed, handles: handlesNow() }
  }
  // The kernel keeps the last runs at hand; here it is the reloads whose memory counts.
  const runEvery = Math.ceil(reloads / MOST_RUNS)
  const editEvery = Math.max(25, Math.ceil(reloads / 10))
  const warmUp = Math.ceil(reloads / 10)
  const took: number[] = []
  let before = { heap: 0, handles: {} }
  let epochsAliveAtMost = 0
  for (let round = 1; round <= reloads; round += 1) {
    const word = `w${round}`
    await bench.write('probe', probePlugin(word))
    if (round % editEvery === 0) await bench.write('sqlite', { 'edited.js': `export const edited = ${round}` })
    const startedAt = performance.now()
    await bench.daemon.sync()
    took.push(performance.now() - startedAt)
    if (round % runEvery === 0) {
      const run = follow(word)
      inFlight.add(run)
      void run.finally(() => inFlight.delete(run))
    }
    epochsAliveAtMost = Math.max(epochsAliveAtMost, host.epochsAlive)
    if (inFlight.size >= 8) await Promise.race(inFlight)
    if (round === warmUp) before = await settle()
  }
  const after = await settle()
  const epoch = host.current.number
  await touchAll(join(bench.plugins), touches)
  if (touches > 0) await wait(2_500)
  const report: StormReport = {
    reloads,
    runs: runs.all,
    wrongRuns: runs.wrong,
    epochsAlive: host.epochsAlive,
    epochsAliveAtMost,
    newThreads,
    handles: [before.handles, after.handles],
    heapGrowthBytes: after.heap - before.heap,
    reloadMs: took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? 0,
    touches,
    epochsByTouching: host.current.number - epoch,
    errors: bench.logged.filter(({ level }) => level === 'error').slice(0, 5),
  }
  await bench.stop()
  return report
}

/** By kind; sockets come and go with the client's own connections. */
function handlesNow(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo())
    if (!/TCPSocketWrap|TLSWrap|FSReq|Immediate|GetAddr/.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1
  for (const name of process.eventNames()) counts[`on ${String(name)}`] = process.listenerCount(name)
  return counts
}

async function touchAll(dir: string, times: number): Promise<void> {
  const files = ['probe/index.js', 'probe/word.js', 'runs/index.js', 'sqlite/index.js', 'fake/index.js']
  for (let turn = 0; turn < times; turn += 1) {
    const now = new Date()
    await utimes(join(dir, files[turn % files.length] as string), now, now)
  }
}
