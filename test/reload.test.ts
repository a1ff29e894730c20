import { afterEach, expect, test } from 'vitest'
import type { EventEnvelope } from '#test/kit/boot'
import { bootOnCopy, type ReloadBench, type ReloadBenchOptions } from '#test/kit/reload-bench'
import { probePlugin, wordsIn } from '#test/kit/reload-probe'

let live: ReloadBench | undefined
afterEach(async () => {
  openGate()
  await live?.stop()
  live = undefined
})

async function start(options: ReloadBenchOptions = {}): Promise<ReloadBench> {
  live = await bootOnCopy({ plugins: { probe: probePlugin('zero') }, ...options })
  return live
}

const PROBE = { prompt: 'go', provider_name: 'probe' }
const last = (events: readonly EventEnvelope[]) => events.at(-1)
const outputOf = (events: readonly EventEnvelope[]) => last(events)?.payload?.output

let openGate: () => void = () => undefined
/** Holds runs of the probe after their first turn. */
function closeGate(): void {
  const probeGate = new Promise<void>(resolve => {
    openGate = resolve
  })
  Object.assign(globalThis, { probeGate })
}

test('swaps under load: runs keep what they were admitted with, streams go on, none fails', async () => {
  const { start: begin, events, request, write, reload, daemon } = await start()
  const words = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven']
  const runs: { readonly word: string; readonly seen: Promise<readonly EventEnvelope[]> }[] = []
  closeGate()
  for (const [index, word] of words.entries()) {
    if (index > 0) {
      await write('probe', probePlugin(word))
      expect(await reload()).toMatchObject({ status: 200 })
    }
    expect((await request('GET', '/v1/probe')).body.word).toBe(word)
    // Each run is followed from its start, across the swaps that come.
    for (let count = 0; count < 5; count += 1) runs.push({ word, seen: events(await begin(PROBE)) })
  }
  expect(daemon.host.epochsAlive).toBe(words.length)
  openGate()
  const ended = await Promise.all(runs.map(async ({ word, seen }) => ({ word, events: await seen })))
  const wrong = ended.filter(
    ({ word, events: each }) =>
      last(each)?.type !== 'run.completed' ||
      wordsIn(outputOf(each)).join() !== `<${word}>` ||
      each.some(({ id }, index) => Number(id.split(':')[1]) !== index),
  )
  expect(wrong.map(({ word, events: each }) => [word, last(each)])).toEqual([])
  expect((await request('GET', `/v1/runs/${last(ended[0]?.events ?? [])?.run_id}`)).body.status).toBe('completed')
  await expect.poll(() => daemon.host.epochsAlive).toBe(1)
})

test('a run that waits for an answer goes on with the code it was parked with', async () => {
  const parking = (word: string) => ({
    'late.js': `export const late = '${word}'`,
    'index.js': `
import { Type } from '@sinclair/typebox'
import { definePlugin } from 'runwright/contracts'
export const plugin = definePlugin({
  name: 'parking',
  config: Type.Object({}),
  register(scope) {
    scope.defer(() => void globalThis.undone.push('${word}'))
    scope.tap('toolAnswered', async answer => ({ ...answer, result: { output: answer.result.output + ' ${word}' } }))
    scope.tool({
      name: 'park', description: 'Waits.', parameters: Type.Object({}), action: 'read', isParallelSafe: false,
      async execute(_, { run }) {
        const { letter } = await run.wait({ status: 'waiting_for_user', kind: 'unpark' })
        return { output: letter.body.said + ' ${word} ' + (await import('./late.js')).late }
      },
    })
  },
})`,
  })
  const bench = await start({
    plugins: { parking: parking('old') },
    turns: [
      { content: '', tool_calls: [{ id: 'call_1', name: 'park', arguments: '{}' }] },
      { content: 'bye' },
      { content: '', tool_calls: [{ id: 'call_2', name: 'park', arguments: '{}' }] },
      { content: 'bye' },
    ],
  })
  const park = async () => {
    const id = await bench.start('go')
    await expect.poll(async () => (await bench.request('GET', `/v1/runs/${id}`)).body.status).toBe('waiting_for_user')
    return id
  }
  const unpark = async (id: string) => {
    expect(await bench.daemon.runs.send('default', id, { kind: 'unpark', body: { said: 'hi' } })).toEqual({
      kind: 'posted',
    })
    const seen = await bench.events(id)
    return [last(seen)?.type, seen.find(({ type }) => type === 'tool.call.completed')?.payload?.output]
  }
  const undone: string[] = []
  Object.assign(globalThis, { undone })
  const parked = await park()
  await bench.write('parking', parking('new'))
  expect(await bench.reload()).toMatchObject({ status: 200 })
  expect((await bench.request('GET', `/v1/runs/${parked}`)).body.status).toBe('waiting_for_user')
  expect(undone).toEqual([])
  expect(await unpark(parked)).toEqual(['run.completed', 'hi old old old'])
  await expect.poll(() => undone).toEqual(['old'])
  expect(await unpark(await park())).toEqual(['run.completed', 'hi new new new'])
})

test('a changed section of the configuration re-opens that plugin and no other', async () => {
  const bench = await start({ config: '[plugins.probe]\nnote = "first"\n' })
  const generations = async () => new Map((await bench.rows()).map(({ name, generation }) => [name, generation]))
  const before = await generations()
  await bench.configure('max_steps = 7\nwatch_interval_seconds = 9\n[plugins.probe]\nnote = "second"\n')
  expect((await bench.reload()).body).toEqual({
    applied: ['max_steps', 'plugins.probe'],
    restart_required: ['watch_interval_seconds'],
  })
  expect((await bench.request('GET', '/v1/probe')).body.note).toBe('second')
  const after = await generations()
  const changed = [...after].filter(([name, generation]) => before.get(name) !== generation).map(([name]) => name)
  // `budgets` takes max_steps for its own config.
  expect(changed.toSorted()).toEqual(['budgets', 'probe'])
  await bench.configure('max_steps = 7\nwatch_interval_seconds = 9\n[plugins.probe]\nnote = 5\n')
  expect(await bench.reload()).toMatchObject({ status: 200, body: { applied: ['plugins.probe'] } })
  expect((await bench.request('GET', '/v1/probe')).body.note).toBe('')
  expect(bench.logged.filter(({ level, key }) => level === 'warn' && key === 'plugins.probe.note')).not.toEqual([])
})

test('an edited database plugin takes over its thread and its files, with runs in flight', async () => {
  const bench = await start({ isDurable: true })
  const threads: unknown[] = []
  const note = (thread: unknown) => void threads.push(thread)
  process.on('worker', note)
  try {
    closeGate()
    const runs: string[] = []
    for (let round = 0; round < 4; round += 1) {
      for (let count = 0; count < 3; count += 1) runs.push(await bench.start(PROBE))
      await bench.write('sqlite', { 'edited.js': `export const edited = ${round}` })
      expect(await bench.reload()).toMatchObject({ status: 200 })
    }
    const cancelled = await bench.start(PROBE)
    await bench.until(cancelled, 'tool.call.completed')
    await bench.write('sqlite', { 'edited.js': `export const edited = 'last'` })
    await bench.reload()
    await bench.request('POST', `/v1/runs/${cancelled}/cancel`)
    expect(last(await bench.events(cancelled))?.type).toBe('run.cancelled')
    openGate()
    const ended = await Promise.all(runs.map(id => bench.events(id)))
    expect(ended.map(each => last(each)?.type)).toEqual(runs.map(() => 'run.completed'))
    const listed = (await bench.request('GET', '/v1/runs')).body.runs as {
      readonly id: string
      readonly status: string
    }[]
    expect(listed.map(({ id, status }) => [id, status]).toSorted()).toEqual(
      [...runs.map(id => [id, 'completed']), [cancelled, 'cancelled']].toSorted(),
    )
    expect(threads).toEqual([])
  } finally {
    process.off('worker', note)
  }
})

test('the fake provider goes on with the next turn after it was edited', async () => {
  const bench = await start({ turns: [{ content: 'first' }, { content: 'second' }, { content: 'third' }] })
  const outputs = [outputOf(await bench.run('go'))]
  for (const edited of [1, 2]) {
    await bench.write('fake', { 'edited.js': `export const edited = ${edited}` })
    await bench.reload()
    outputs.push(outputOf(await bench.run('go')))
  }
  expect(outputs).toEqual(['first', 'second', 'third'])
})

test('a plugin folder that appears is loaded, one that goes is unloaded, routes and tools with it', async () => {
  const bench = await start({ plugins: {} })
  expect((await bench.request('GET', '/v1/probe')).status).toBe(404)
  await bench.write('probe', probePlugin('here'))
  await bench.reload()
  const { adds, state } = (await bench.row('probe')) ?? {}
  expect([state, adds?.tools, adds?.routes]).toEqual(['running', ['probe'], ['GET /v1/probe']])
  closeGate()
  const inFlight = await bench.start(PROBE)
  await bench.until(inFlight, 'tool.call.completed')
  await bench.remove('probe')
  await bench.reload()
  openGate()
  expect([(await bench.request('GET', '/v1/probe')).status, await bench.row('probe')]).toEqual([404, undefined])
  // What it had begun it finishes.
  expect(wordsIn(outputOf(await bench.events(inFlight)))).toEqual(['<here>'])
  expect(outputOf(await bench.run('go'))).toBe('done')
})

test('a watching daemon sees a saved change within two intervals', async () => {
  const watch_interval_seconds = 3
  const bench = await start({ settings: { watch_enabled: true, watch_interval_seconds } })
  const word = async () => (await bench.request('GET', '/v1/probe')).body.word
  for (const next of ['one', 'two']) {
    await bench.write('probe', { 'word.js': `export const word = '${next}'` })
    const savedAt = performance.now()
    await expect.poll(word).toBe(next)
    expect(performance.now() - savedAt).toBeLessThan(2000 * watch_interval_seconds)
  }
})
