import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isTerminalEvent } from '#contracts/event/payloads'
import { createClient } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'
import { writeProbePlugin } from '#test/kit/probe-plugin'
import { type ServeProcess, spawnServe } from '#test/kit/serve-process'
import { framesIn, idOf, type Reading, readStream } from '#test/kit/stream-reader'

/** What the daemon gives runs and connections before it cuts them. */
const RUN_GRACE_MS = 4_000
const CLOSE_GRACE_MS = 12_000

let dir = ''
let model: ChatServer
let daemon: ServeProcess | undefined
/** While false, the model keeps everybody waiting who is to wait. */
let isModelFree = false

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-drain-'))
  isModelFree = false
  model = await startChatServer({ respond: ({ body }) => answer(body?.messages as Said[]) })
})
afterEach(async () => {
  daemon?.signal('SIGKILL')
  await daemon?.exited
  await model.close()
  await rm(dir, { recursive: true, force: true })
})

interface Said {
  readonly role: string
  readonly content: string
}

/** `wait` runs hang at the model, `tool` runs are in a long mutating call, `quick` runs are in one that ends soon. */
function answer(messages: readonly Said[]): ChatTurn {
  const prompt = messages.find(({ role }) => role === 'user')?.content ?? ''
  const [kind = ''] = prompt.split('-')
  const isCalled = messages.some(({ role }) => role === 'tool')
  if (!isCalled && kind !== 'wait') {
    const ms = kind === 'quick' ? 1_500 : 600_000
    return { toolCalls: [{ id: `call-${prompt}`, name: 'mark', arguments: { ms } }] }
  }
  return isModelFree ? { text: `end of ${prompt}` } : { text: 'late', hang: true }
}

const start = async (isDurable: boolean, environment: Readonly<Record<string, string>> = {}) => {
  daemon = await spawnServe({
    dir,
    modelUrl: model.baseUrl,
    isDurable,
    pluginDirs: [await writeProbePlugin(dir)],
    environment,
  })
  return { serve: daemon, client: createClient(daemon.url) }
}

const PROMPTS = [
  ...Array.from({ length: 8 }, (_, index) => `wait-${index}`),
  ...Array.from({ length: 8 }, (_, index) => `tool-${index}`),
  ...Array.from({ length: 4 }, (_, index) => `quick-${index}`),
]

/** Starts the runs and resolves when each of them is where it is to be. */
async function inFlight(client: ReturnType<typeof createClient>): Promise<ReadonlyMap<string, string>> {
  const runs = new Map<string, string>()
  await Promise.all(
    PROMPTS.map(async prompt => {
      const runId = await client.start(prompt)
      runs.set(prompt, runId)
      await client.until(runId, prompt.startsWith('wait') ? 'assistant.message.delta' : 'tool.call.started')
    }),
  )
  return runs
}

/** Resolves when all are open with what they will have brought. */
async function openStreams(urls: readonly string[]): Promise<{ readonly ended: Promise<Reading[]> }> {
  const ended: Promise<Reading>[] = []
  const opened = urls.map(url => new Promise<void>(onOpen => void ended.push(readStream(url, { onOpen }))))
  await Promise.all(opened)
  return { ended: Promise.all(ended) }
}

/** Opens streams on the runs in turn. */
const open = (url: string, runs: readonly string[], count: number) =>
  openStreams(Array.from({ length: count }, (_, index) => `${url}/v1/runs/${runs[index % runs.length]}/events`))

/** Resolves when the daemon has seen the signal: two that come at once are one to it. */
const stopping = (client: ReturnType<typeof createClient>) =>
  expect
    .poll(async () => (await client.request('GET', '/readyz').catch(() => undefined))?.status, { interval: 10 })
    .not.toBe(200)

const typesIn = ({ bytes }: Reading) => framesIn(bytes).map(frame => /^event: (.*)$/m.exec(frame)?.[1] ?? '')
const effects = async () =>
  (await readFile(join(dir, 'workspace', 'effects'), 'utf8')).split('\n').filter(Boolean).sort()
const CALLS = PROMPTS.filter(prompt => !prompt.startsWith('wait'))
  .map(prompt => `call-${prompt}`)
  .sort()

test('SIGTERM with 20 runs and 50 streams: no new work, a hint to come back, exit 0 in time; the next start ends every run', {
  timeout: 60_000,
}, async () => {
  const { serve, client } = await start(true)
  const runs = await inFlight(client)
  const streams = await open(serve.url, [...runs.values()], 50)
  const signalledAt = performance.now()
  serve.signal('SIGTERM')
  await stopping(client)
  const refused = await client.request('POST', '/v1/runs', { prompt: 'too late' }).catch(() => 'refused')
  if (refused !== 'refused') expect(refused).toMatchObject({ status: 503 })
  expect(await serve.exited).toEqual({ code: 0, signal: null })
  expect(performance.now() - signalledAt).toBeLessThan(15_000)
  const readings = await streams.ended
  for (const { bytes, isWhole } of readings) {
    expect(isWhole).toBe(true)
    expect(bytes.toString().endsWith('retry: 1000\n\n')).toBe(true)
  }
  // Closed cleanly: nothing is left in a write-ahead log, and the file is sound.
  expect(existsSync(join(dir, 'runs.db-wal'))).toBe(false)
  const database = new Database(join(dir, 'runs.db'), { readonly: true })
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  database.close()
  expect(await effects()).toEqual(CALLS)

  isModelFree = true
  const { client: after, serve: next } = await start(true)
  const logs = await Promise.all([...runs.values()].map(runId => readStream(`${next.url}/v1/runs/${runId}/events`)))
  for (const log of logs) {
    expect(log.isWhole).toBe(true)
    expect(typesIn(log).filter(isTerminalEvent)).toEqual(['run.completed'])
    const frames = framesIn(log.bytes)
    expect(frames.map(idOf)).toEqual(frames.map((_, index) => `${idOf(frames[0]!).slice(0, -2)}:${index}`))
  }
  // What readers were shown before is there, byte for byte.
  const known = new Set(logs.flatMap(({ bytes }) => framesIn(bytes)))
  expect(readings.flatMap(({ bytes }) => framesIn(bytes)).filter(frame => !known.has(frame))).toEqual([])
  // And no call was made twice.
  expect(await effects()).toEqual(CALLS)
  expect((await after.request('GET', '/v1/runs')).body.runs).toHaveLength(PROMPTS.length)
})

test('with stores in memory the runs end as cancelled and their readers see it', { timeout: 60_000 }, async () => {
  const { serve, client } = await start(false, { SVC_MAX_CONCURRENT_RUNS: '20' })
  const runs = await inFlight(client)
  // Beyond the cap: one that never began.
  const queued = await client.start('wait-queued')
  const streams = await open(serve.url, [...runs.values(), queued], 21)
  const signalledAt = performance.now()
  serve.signal('SIGTERM')
  expect(await serve.exited).toEqual({ code: 0, signal: null })
  expect(performance.now() - signalledAt).toBeLessThan(15_000)
  for (const reading of await streams.ended) {
    expect(reading.isWhole).toBe(true)
    expect(typesIn(reading).at(-1)).toBe('run.cancelled')
  }
})

test('a queued run does not hold up the stop, and is there at the next start', { timeout: 60_000 }, async () => {
  const { serve, client } = await start(true, { SVC_MAX_CONCURRENT_RUNS: '1' })
  const first = await client.start('tool-only')
  await client.until(first, 'tool.call.started')
  const queued = await client.start('wait-queued')
  const signalledAt = performance.now()
  serve.signal('SIGTERM')
  expect(await serve.exited).toEqual({ code: 0, signal: null })
  expect(performance.now() - signalledAt).toBeLessThan(CLOSE_GRACE_MS)
  isModelFree = true
  const { client: after } = await start(true, { SVC_MAX_CONCURRENT_RUNS: '1' })
  const ends = await Promise.all([first, queued].map(async runId => (await after.events(runId)).at(-1)?.type))
  expect(ends).toEqual(['run.completed', 'run.completed'])
})

test('a second signal ends the process at once', { timeout: 60_000 }, async () => {
  const { serve, client } = await start(true)
  await client.until(await client.start('tool-only'), 'tool.call.started')
  serve.signal('SIGTERM')
  await stopping(client)
  const forcedAt = performance.now()
  serve.signal('SIGTERM')
  expect(await serve.exited).toEqual({ code: 1, signal: null })
  expect(performance.now() - forcedAt).toBeLessThan(RUN_GRACE_MS)
})

test('an idle daemon stops at once, also with a stream of a conversation open', { timeout: 60_000 }, async () => {
  isModelFree = true
  const { serve, client } = await start(true)
  await client.run({ prompt: 'wait-x', conversation_id: 'talk' })
  const { ended } = await openStreams([`${serve.url}/v1/conversations/talk/events`])
  const signalledAt = performance.now()
  serve.signal('SIGINT')
  expect(await serve.exited).toEqual({ code: 0, signal: null })
  expect(performance.now() - signalledAt).toBeLessThan(CLOSE_GRACE_MS)
  expect((await ended)[0]?.bytes.toString().endsWith('retry: 1000\n\n')).toBe(true)
})
