import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { RUN_STORE } from '#contracts/ports'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'
import { writeProbePlugin } from '#test/kit/probe-plugin'
import { framesIn, idOf, readStream } from '#test/kit/stream-reader'
import { faultyPlugins, setFault, unavailable } from './faulty-plugins.js'

let dir = ''
let live: Booted
let model: ChatServer
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-faults-'))
  model = await startChatServer({
    respond: ({ body }) => {
      const messages = body?.messages as { role: string; content: string }[]
      const prompt = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      if (prompt === 'hang') return { text: 'x', hang: true }
      if (messages.findLast(({ role }) => role !== 'system')?.role === 'tool') return { chunks: ['all ', 'done'] }
      return { toolCalls: [{ id: `call-${prompt}`, name: 'mark', arguments: { ms: 0 } }] }
    },
  })
  live = await boot({
    dir,
    modelUrl: model.baseUrl,
    isDurable: true,
    bundled: [await faultyPlugins(dir)],
    settings: { plugin_dirs: [await writeProbePlugin(dir)] },
  })
})
afterEach(() => setFault(undefined))
afterAll(async () => {
  await live.stop()
  await model.close()
  await rm(dir, { recursive: true, force: true })
})

const post = (prompt: string) =>
  live.request('POST', '/v1/runs', { prompt, conversation_id: `talk-${prompt}` }, { 'idempotency-key': prompt })

test('whichever store operation of a run fails for a while, nothing is acknowledged that is not stored, and the run goes on', {
  timeout: 60_000,
}, async () => {
  let isPassed = false
  let wrong = 0
  let k = 0
  for (; !isPassed && k < 60; k++) {
    const prompt = `flow-${k}`
    let count = 0
    let failed = 0
    const failures = 1 + (k % 3)
    setFault(() => {
      if (count++ < k || failed >= failures) return
      failed += 1
      throw unavailable()
    })
    let reply = await post(prompt)
    while (reply.status !== 202) {
      expect(reply).toMatchObject({ status: 503, body: { error: { code: 'store_unavailable' } } })
      expect(reply.headers.get('retry-after')).toBeTruthy()
      reply = await post(prompt)
    }
    const runId = reply.body.run_id
    const outcome = await live.daemon.runs.settled('default', runId, AbortSignal.timeout(10_000)).catch(() => undefined)
    isPassed = failed === 0
    setFault(undefined)
    const { bytes } = await readStream(`${live.url}/v1/runs/${runId}/events`)
    const ids = framesIn(bytes).map(idOf)
    if (outcome?.status !== 'completed') {
      wrong += 1
      console.log(`operation ${k}: ${outcome?.status} ${outcome?.error}`)
    }
    expect(ids).toEqual(ids.map((_, index) => `${runId}:${index}`))
    const effects = (await readFile(join(live.workspace, 'effects'), 'utf8')).split('\n')
    expect(effects.filter(line => line === `call-${prompt}`)).toHaveLength(1)
  }
  console.log(`${k} points of failure`)
  expect(wrong).toBe(0)
  expect(isPassed).toBe(true)
  expect(k).toBeGreaterThan(5)
})

test('while commits fail, readers see exactly what is stored; when the cause ends they see the rest', async () => {
  let isBroken = false
  setFault(operation => {
    if (isBroken && operation === 'run.commit') throw unavailable()
  })
  isBroken = true
  const reply = await post('shown')
  expect(reply.status).toBe(202)
  const runId = reply.body.run_id
  const reading = readStream(`${live.url}/v1/runs/${runId}/events`)
  const stopped = new AbortController()
  const partial = readStream(`${live.url}/v1/runs/${runId}/events`, { signal: stopped.signal })
  await expect
    .poll(() => live.logged.some(({ message, run }) => message === 'run waits for its store' && run === runId))
    .toBe(true)
  await expect.poll(() => live.daemon.openStreams).toBe(2)
  stopped.abort()
  const stored = await live.daemon.host.current.port(RUN_STORE)?.events('default', runId, undefined, 1_000)
  expect(framesIn((await partial).bytes)).toHaveLength(stored?.length ?? -1)
  expect((await live.request('GET', `/v1/runs/${runId}`)).body.status).toBe('queued')
  isBroken = false
  const ids = framesIn((await reading).bytes).map(idOf)
  expect(ids).toEqual(ids.map((_, index) => `${runId}:${index}`))
  expect((await live.request('GET', `/v1/runs/${runId}`)).body.status).toBe('completed')
})

test('a cancel that could not be stored is not acknowledged; the next one is', async () => {
  const runId = (await post('hang')).body.run_id
  await live.until(runId, 'llm.turn.requested')
  setFault(operation => {
    if (operation === 'run.post') throw unavailable()
  })
  expect(await live.request('POST', `/v1/runs/${runId}/cancel`)).toMatchObject({ status: 503 })
  expect((await live.request('GET', `/v1/runs/${runId}`)).body.status).toBe('running')
  setFault(undefined)
  expect(await live.request('POST', `/v1/runs/${runId}/cancel`)).toMatchObject({ status: 200 })
  expect((await live.events(runId)).at(-1)?.type).toBe('run.cancelled')
})

test('a request that the store cannot answer is 503 with a hint, not 500', async () => {
  const runId = (await post('flow-0')).body.run_id
  setFault(() => {
    throw unavailable()
  })
  for (const path of [
    '/v1/runs',
    '/v1/runs/run_unknown',
    '/v1/runs/run_unknown/events',
    '/v1/conversations/talk-x/events',
  ]) {
    const reply = await live.request('GET', path)
    expect(reply, path).toMatchObject({ status: 503, body: { error: { code: 'store_unavailable' } } })
    expect(reply.headers.get('retry-after')).toBeTruthy()
  }
  setFault(undefined)
  expect((await live.request('GET', `/v1/runs/${runId}`)).status).toBe(200)
})
