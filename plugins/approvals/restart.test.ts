import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { RestartBench } from '#test/kit/restart-bench'
import { type ScriptedCall, scriptedPrompt, writeScriptedPlugin } from '#test/kit/scripted-plugin'

const REQUIRED = 'tool.approval_required'
const trigger = (id = 'c1', n = 1) => ({ id, name: 'trigger', arguments: { n } })
const look = (id: string) => ({ id, name: 'look' })
const request = (approval: string, ...steps: readonly (readonly ScriptedCall[])[]) => ({
  prompt: scriptedPrompt(...steps),
  permissions: { approval },
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

let dir = ''
let bench: RestartBench
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-approvals-'))
  await writeScriptedPlugin(join(dir, 'plugins'))
})
beforeEach(async () => {
  bench = await RestartBench.open({ settings: { plugin_dirs: [join(dir, 'plugins')] } })
})
afterEach(() => bench.close())
afterAll(() => rm(dir, { recursive: true, force: true }))

test.each([
  ['permissions', 'full_auto', ['a', 'b']],
  ['full_auto', 'permissions', ['a']],
] as const)(
  'a run admitted in %s mode keeps to it when the daemon comes back in %s mode',
  async (mode, next, asked) => {
    const before = await bench.start({ tool_approval_mode: mode })
    // The rule has it wait for the first call; the second is judged by the next process.
    const rules = [{ pattern: 'look', effect: 'ask' }]
    const id = await before.start({ prompt: scriptedPrompt([look('a')], [trigger('b')]), rules })
    await before.until(id, REQUIRED)
    const after = await bench.restart({ tool_approval_mode: next })
    for (const call_id of asked) {
      await expect
        .poll(async () => (await after.request('GET', `/v1/runs/${id}/checkpoint`)).body.call_id)
        .toBe(call_id)
      expect((await after.request('POST', `/v1/runs/${id}/approve`, { call_id })).status).toBe(200)
    }
    const events = await after.events(id)
    expect(events.filter(({ type }) => type === REQUIRED).map(({ payload }) => payload?.call_id)).toEqual(asked)
    expect(events.at(-1)?.payload?.output).toBe('["seen","pulled 1"]')
    // The setting of the process counts for what it admits itself.
    const fresh = await after.start(scriptedPrompt([trigger('c')]))
    if (next === 'full_auto') expect((await after.events(fresh)).at(-1)?.type).toBe('run.completed')
    else expect((await after.until(fresh, REQUIRED)).payload?.call_id).toBe('c')
  },
)

test('the same call is pending with the same deadline, and can be approved then; what was answered before counts', async () => {
  const before = await bench.start()
  const [waiting, answered] = await Promise.all([
    before.start(request('all', [look('a'), look('b')], [trigger()])),
    before.start(request('destructive', [trigger('x', 7)])),
  ])
  await before.until(waiting, REQUIRED)
  const first = (await before.request('GET', `/v1/runs/${waiting}/checkpoint`)).body
  await before.request('POST', `/v1/runs/${waiting}/approve`, { call_id: 'a' })
  await expect.poll(async () => (await before.request('GET', `/v1/runs/${waiting}/checkpoint`)).body.call_id).toBe('b')
  const pending = (await before.request('GET', `/v1/runs/${waiting}/checkpoint`)).body
  await before.until(answered, REQUIRED)
  expect((await before.request('POST', `/v1/runs/${answered}/approve`)).status).toBe(200)
  const after = await bench.restart()
  expect((await after.request('GET', `/v1/runs/${waiting}`)).body.status).toBe('waiting_for_approval')
  expect((await after.request('GET', `/v1/runs/${waiting}/checkpoint`)).body).toEqual(pending)
  expect((await after.request('GET', `/v1/checkpoints/${first.id}`)).body.status).toBe('approved')
  expect((await after.request('POST', `/v1/runs/${waiting}/approve`, { call_id: 'b' })).status).toBe(200)
  await expect.poll(async () => (await after.request('GET', `/v1/runs/${waiting}/checkpoint`)).body.call_id).toBe('c1')
  expect((await after.request('POST', `/v1/runs/${waiting}/approve`)).status).toBe(200)
  const events = await after.events(waiting)
  const asked = events.filter(({ type }) => type === REQUIRED || type === 'tool.approval_granted')
  expect(asked.map(({ type, payload }) => [type.slice('tool.approval_'.length), payload?.call_id])).toEqual([
    ['required', 'a'],
    ['granted', 'a'],
    ['required', 'b'],
    ['granted', 'b'],
    ['required', 'c1'],
    ['granted', 'c1'],
  ])
  expect(events.at(-1)?.payload?.output).toBe('["seen","seen","pulled 1"]')
  const done = (await readFile(join(bench.workspace, 'effects'), 'utf8')).trim().split('\n')
  expect(done.filter(line => line.startsWith(waiting))).toEqual([`${waiting} 1`])
  // The kill may have come between the intent of the answered call and its effect; then its outcome is unknown.
  const { type, payload } = (await after.events(answered)).at(-1) ?? {}
  expect([type, done.filter(line => line.startsWith(answered))]).toEqual([
    'run.completed',
    payload?.output.includes('outcome_unknown') ? expect.any(Array) : [`${answered} 7`],
  ])
  expect(done.length).toBeLessThan(3)
})

test('who answers as soon as the daemon can be reached is not told that nothing waits', async () => {
  const addr = `127.0.0.1:${await freePort()}`
  const before = await bench.start({ addr })
  const ids = await Promise.all(Array.from({ length: 24 }, (_, n) => before.start(request('all', [trigger('c', n)]))))
  for (const id of ids) await before.until(id, REQUIRED)
  await bench.daemon.kill()
  const starting = bench.start({ addr })
  const isReached = (): Promise<boolean> =>
    before.request('GET', '/healthz').then(
      () => true,
      () => false,
    )
  while (!(await isReached())) await new Promise(setImmediate)
  const replies = await Promise.all(ids.map(id => before.request('POST', `/v1/runs/${id}/approve`)))
  await starting
  expect(replies.map(({ status }) => status)).toEqual(ids.map(() => 200))
}, 60_000)

test('a step that was cut in two counts the calls of both halves', async () => {
  const before = await bench.start()
  const id = await before.start(request('destructive', [trigger('m', 1), trigger('n', 2)]))
  await before.until(id, REQUIRED)
  await before.request('POST', `/v1/runs/${id}/approve`, { call_id: 'm' })
  await expect.poll(async () => (await before.request('GET', `/v1/runs/${id}/checkpoint`)).body.call_id).toBe('n')
  const after = await bench.restart()
  expect((await after.request('POST', `/v1/runs/${id}/approve`, { call_id: 'n' })).status).toBe(200)
  const steps = (await after.events(id)).filter(({ type }) => type === 'run.step.completed')
  expect(steps.map(({ payload }) => payload?.tool_calls)).toEqual([2, 0])
  expect(await readFile(join(bench.workspace, 'effects'), 'utf8')).toBe(`${id} 1\n${id} 2\n`)
})
