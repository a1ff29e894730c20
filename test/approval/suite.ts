import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createRandom } from '../crash/random.js'
import { boot } from '../kit/boot.js'
import { RestartBench } from '../kit/restart-bench.js'
import { writeScriptedPlugin } from '../kit/scripted-plugin.js'
import { faultsOf, type Hand, type Round, race, startWaiting } from './race.js'

export interface RaceReport {
  readonly rounds: number
  readonly won: Readonly<Record<string, number>>
  readonly ran: number
  readonly faults: readonly string[]
  readonly ms: number
}

export interface RaceOptions {
  readonly rounds: number
  readonly seed: number
  /** Rounds at a time. */
  readonly width?: number
  /** Let the deadline join the race. */
  readonly timeoutSeconds?: number
  /** Changes a copy of the bundled plugins before the daemon runs on it. */
  readonly breakPlugins?: (pluginsDir: string) => Promise<void>
}

const HANDS: readonly Hand[] = ['approve', 'approve', 'deny', 'deny', 'cancel', 'resume', 'other call']

/** Rounds of parallel approve, deny, cancel, resume and wrong clicks against one daemon with a database. */
export async function raceApprovals(options: RaceOptions): Promise<RaceReport> {
  const { rounds, seed, width = 16, timeoutSeconds = 300, breakPlugins } = options
  const startedAt = performance.now()
  const random = createRandom(seed)
  const dir = await mkdtemp(join(tmpdir(), 'runwright-races-'))
  await writeScriptedPlugin(join(dir, 'plugins'))
  const bundled = join(dir, 'bundled')
  if (breakPlugins) {
    await cp(resolve(import.meta.dirname, '../../plugins'), bundled, { recursive: true })
    await breakPlugins(bundled)
  }
  const daemon = await boot({
    dir,
    isDurable: true,
    ...(breakPlugins && { bundled: [bundled] }),
    settings: { plugin_dirs: [join(dir, 'plugins')], ask_user_timeout_seconds: timeoutSeconds, log_level: 'silent' },
  })
  const done: Round[] = []
  // A resume takes longer on its way than the others: it gets a start, or it would never win.
  const pauseMs = (hand: Hand): number => {
    if (timeoutSeconds < 1) return random() * 2000 * timeoutSeconds
    return hand === 'resume' || random() < 0.3 ? 0 : random() * 20
  }
  let next = 0
  const hand = async (): Promise<void> => {
    while (next < rounds) {
      const n = next++
      const hands = handsOf(random)
      done.push(await race(daemon, await startWaiting(daemon, n), n, hands, pauseMs))
    }
  }
  try {
    await Promise.all(Array.from({ length: width }, hand))
    return report(done, await effectsIn(daemon.workspace), startedAt)
  } finally {
    await daemon.stop()
    await rm(dir, { recursive: true, force: true })
  }
}

/** Two to six hands; a third of the rounds has somebody cancel, and at least one answers. */
function handsOf(random: () => number): readonly Hand[] {
  const count = 1 + Math.floor(random() * 5)
  const hands = Array.from({ length: count }, () => HANDS[Math.floor(random() * HANDS.length)] as Hand)
  return [random() < 0.5 ? 'approve' : 'deny', ...hands.filter(hand => hand !== 'cancel' || random() < 0.6)]
}

const effectsIn = async (workspace: string): Promise<readonly string[]> =>
  (await readFile(join(workspace, 'effects'), 'utf8').catch(() => '')).split('\n').filter(line => line !== '')

function report(rounds: readonly Round[], effects: readonly string[], startedAt: number): RaceReport {
  const won: Record<string, number> = {}
  for (const { replies } of rounds)
    for (const { hand, status } of replies) if (status === 200) won[hand] = (won[hand] ?? 0) + 1
  return {
    rounds: rounds.length,
    won,
    ran: effects.length,
    faults: rounds.flatMap(round => faultsOf(round, effects)),
    ms: Math.round(performance.now() - startedAt),
  }
}

/** Rounds in which the daemon is killed while calls wait and answers come in. What was answered 200 before counts after. */
export async function raceKills({ rounds, seed }: Pick<RaceOptions, 'rounds' | 'seed'>): Promise<RaceReport> {
  const startedAt = performance.now()
  const random = createRandom(seed)
  const bench = await RestartBench.open()
  await writeScriptedPlugin(join(bench.dir, 'plugins'))
  const done: Round[] = []
  try {
    let before = await bench.start()
    for (let round = 0; round < rounds; round++) {
      const runs = await Promise.all(Array.from({ length: 8 }, (_, index) => startWaiting(before, round * 8 + index)))
      // Some answers are on their way when the process goes; which of them arrive is open.
      const clicks = runs.map(async (id, index): Promise<{ hand: Hand; status: number }> => {
        const hand = index % 2 === 0 ? 'approve' : 'deny'
        if (index >= 4) return { hand, status: 0 }
        return before.request('POST', `/v1/runs/${id}/${hand}`).then(
          ({ status }) => ({ hand, status }),
          () => ({ hand, status: 0 }),
        )
      })
      await new Promise(resolve => setTimeout(resolve, random() * 12))
      await bench.daemon.kill()
      const early = await Promise.all(clicks)
      const after = await bench.start()
      for (const [index, id] of runs.entries()) {
        const result = await race(after, id, round * 8 + index, ['approve', 'deny'], () => random() * 2)
        done.push(withEarly(result, early[index] as { hand: Hand; status: number }))
      }
      before = after
    }
    return report(done, await effectsIn(bench.workspace), startedAt)
  } finally {
    await bench.close()
  }
}

/** An answer that got no reply may have won all the same; the log tells. */
function withEarly(round: Round, early: { readonly hand: Hand; readonly status: number }): Round {
  const hasWinner = round.replies.some(({ status }) => status === 200)
  const status = early.status === 0 ? (hasWinner ? 409 : 200) : early.status
  return { ...round, replies: [...round.replies, { ...early, status }] }
}
