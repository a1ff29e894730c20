import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { isTerminalEvent } from '#contracts/event/payloads'
import { answeredBy } from '#test/kit/answered-by'
import { startChatServer } from '#test/kit/chat-server'
import { type DaemonProcess, spawnDaemon } from '#test/kit/daemon-process'
import { frames, lane, type Target } from './clients.js'
import { Journal } from './journal.js'
import { createRandom } from './random.js'

export interface CrashOptions {
  readonly kills: number
  readonly seed: number
  readonly lanes?: number
  /** Changes a copy of the bundled plugins before the daemon runs on it. */
  readonly breakPlugins?: (pluginsDir: string) => Promise<void>
}

/** What the harness found; all lists are empty when the promise holds. */
export interface CrashReport {
  readonly seed: number
  readonly kills: number
  readonly acknowledgedRuns: number
  readonly acknowledgedFrames: number
  readonly lostRuns: readonly string[]
  readonly lostFrames: readonly string[]
  readonly alteredFrames: readonly string[]
  readonly holes: readonly string[]
  readonly wrongEnds: readonly string[]
  /** Mutating calls that took effect more than once. */
  readonly doubled: readonly string[]
  readonly limbo: readonly string[]
  readonly integrity: string
  readonly restartMs: { readonly p50: number; readonly p99: number; readonly max: number }
}

/** A report in one line, with counts in place of lists. */
export const summary = (report: CrashReport): string =>
  JSON.stringify(report, (_, value) => (Array.isArray(value) ? value.length : value))

/** A report in which every promise held. */
export const NOTHING_LOST = {
  lostRuns: [],
  lostFrames: [],
  alteredFrames: [],
  holes: [],
  wrongEnds: [],
  doubled: [],
  limbo: [],
  integrity: 'ok',
} as const

const TURNS = 3
const LIMBO_MS = 10_000

/** Kills a loaded daemon at random moments, restarts it, and compares what clients were told with what is there. */
export async function crash(options: CrashOptions): Promise<CrashReport> {
  const random = createRandom(options.seed)
  const dir = await mkdtemp(join(tmpdir(), 'runwright-crash-'))
  const workspace = join(dir, 'workspace')
  await mkdir(workspace)
  const model = await startModel(random)
  const bundled = options.breakPlugins && (await brokenCopy(dir, options.breakPlugins))
  const boot = () =>
    spawnDaemon({
      home: dir,
      cwd: workspace,
      environment: answeredBy(model.baseUrl),
      ...(bundled && { bundled: [bundled] }),
      settings: {
        addr: '127.0.0.1:0',
        workspace,
        watch_enabled: false,
        auth_disabled: true,
        log_level: 'error',
        run_db: join(dir, 'runs.db'),
        conversation_db: join(dir, 'conversations.db'),
      },
    })
  const journal = new Journal()
  let daemon = await boot()
  const target: Target = { url: daemon.url }
  const restarts: number[] = []
  let isOver = false
  const lanes = Array.from({ length: options.lanes ?? 20 }, (_, index) =>
    lane(`lane${index}`, target, journal, () => isOver),
  )
  try {
    for (let kill = 0; kill < options.kills; kill++) {
      await sleep(50 + random() * 500)
      await daemon.kill()
      daemon = await boot()
      target.url = daemon.url
      restarts.push(daemon.readyMs)
    }
    const limbo = await settle(journal, target)
    isOver = true
    await Promise.all(lanes)
    const found = await compare(journal, target)
    return {
      seed: options.seed,
      kills: options.kills,
      ...found,
      limbo,
      ...(await finish(daemon, dir, workspace)),
      restartMs: spread(restarts),
    }
  } finally {
    isOver = true
    await daemon.kill()
    await model.close()
    await rm(dir, { recursive: true, force: true })
  }
}

/** A model whose turns append a line to a file of the run: who looks there sees every call that took effect. */
function startModel(random: () => number) {
  return startChatServer({
    respond: ({ body }) => {
      const messages = (body?.messages ?? []) as { role: string; content: string }[]
      const prompt = messages.find(({ role }) => role === 'user')?.content ?? ''
      const done = messages.filter(({ role }) => role === 'tool').length
      const chunkDelayMs = Math.floor(random() * 8)
      if (done >= TURNS) return { chunks: ['all ', 'is ', 'done'], chunkDelayMs }
      const line = { path: `${prompt}.log`, content: `${done}\n`, append: true }
      return { toolCalls: [{ id: `call-${prompt}-${done}`, name: 'write', arguments: line }], chunkDelayMs }
    },
  })
}

async function brokenCopy(dir: string, breakPlugins: (pluginsDir: string) => Promise<void>): Promise<string> {
  const copy = join(dir, 'plugins')
  await cp(resolve(import.meta.dirname, '../../plugins'), copy, { recursive: true })
  await breakPlugins(copy)
  return copy
}

/** Waits until every acknowledged run has ended; names those that have not in time. */
async function settle(journal: Journal, target: Target): Promise<readonly string[]> {
  const known = [...journal.runs.keys()]
  const until = Date.now() + LIMBO_MS
  while (known.some(id => !journal.ended.has(id)) && Date.now() < until) await sleep(50)
  const open = known.filter(id => !journal.ended.has(id))
  // A lane that stopped reading is no run in limbo: ask the daemon itself.
  const states = await Promise.all(
    open.map(id => fetch(`${target.url}/v1/runs/${id}`).then(reply => reply.json() as Promise<{ status?: string }>)),
  )
  return open.filter((_, index) => !['completed', 'failed', 'cancelled'].includes(states[index]?.status ?? ''))
}

async function compare(journal: Journal, target: Target) {
  const lostRuns: string[] = []
  const holes: string[] = []
  const wrongEnds: string[] = []
  const stored = new Map<string, string>()
  for (const runId of journal.runs.keys()) {
    const response = await fetch(`${target.url}/v1/runs/${runId}/events`)
    if (response.status !== 200 || !response.body) {
      lostRuns.push(runId)
      continue
    }
    let next = 0
    const ends: string[] = []
    for await (const { id, type, data } of frames(response.body as unknown as AsyncIterable<Uint8Array>)) {
      if (id !== `${runId}:${next++}`) holes.push(id)
      if (isTerminalEvent(type)) ends.push(type)
      stored.set(id, data)
    }
    if (ends.length !== 1) wrongEnds.push(`${runId}: ${ends.join(', ')}`)
  }
  const shown = [...journal.frames]
  return {
    acknowledgedRuns: journal.runs.size,
    acknowledgedFrames: journal.frames.size,
    lostRuns,
    lostFrames: shown.filter(([id]) => !stored.has(id)).map(([id]) => id),
    alteredFrames: [
      ...journal.altered,
      ...shown.filter(([id, data]) => stored.has(id) && stored.get(id) !== data).map(([id]) => id),
    ],
    holes,
    wrongEnds,
  }
}

async function finish(daemon: DaemonProcess, dir: string, workspace: string) {
  await daemon.terminate()
  const doubled: string[] = []
  for (const name of await readdir(workspace)) {
    if (!name.endsWith('.log')) continue
    const lines = (await readFile(join(workspace, name), 'utf8')).split('\n').filter(Boolean)
    if (new Set(lines).size !== lines.length) doubled.push(`${name}: ${lines.join(' ')}`)
  }
  const database = new Database(join(dir, 'runs.db'), { readonly: true })
  const integrity = String(database.pragma('integrity_check', { simple: true }))
  database.close()
  return { doubled, integrity }
}

function spread(values: readonly number[]): CrashReport['restartMs'] {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}
