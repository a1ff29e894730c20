import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ChatTurn } from '#test/kit/chat-server'
import { RestartBench } from '#test/kit/restart-bench'

/** A plugin with a call that parks its run, a mutating call that takes its time, and a route that answers the first. */
const PROBE = `
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { RUNS } from '#contracts/ports'
export const plugin = definePlugin({
  name: 'probe',
  config: Type.Object({}),
  needs: [RUNS],
  register(scope) {
    scope.tool({
      name: 'park', description: 'Waits for an answer.', parameters: Type.Object({}), action: 'read',
      async execute(_args, { run, callId }) {
        const announce = () => run.emit('run.waiting_for_user', { call_id: callId, tool: 'park', questions: [], deadline_at: '' })
        const outcome = await run.wait({ status: 'waiting_for_user', kind: 'answer', key: callId, announce })
        return { output: outcome.kind === 'answered' ? String(outcome.letter.body) : 'nobody answered' }
      },
    })
    scope.tool({
      name: 'park_write', description: 'Waits for an answer before it changes anything.', parameters: Type.Object({}), action: 'write',
      async execute(_args, { run, callId }) {
        const announce = () => run.emit('run.waiting_for_user', { call_id: callId, tool: 'park_write', questions: [], deadline_at: '' })
        await run.wait({ status: 'waiting_for_user', kind: 'answer', key: callId, announce })
        return { output: 'done' }
      },
    })
    scope.tool({
      name: 'slow_write', description: 'Writes at once and answers late.', parameters: Type.Object({}), action: 'write',
      async execute(_args, { workspace, signal, callId }) {
        await appendFile(join(workspace.root, 'effects'), callId + '\\n')
        await sleep(600_000, undefined, { signal })
        return { output: 'written' }
      },
    })
    scope.routes(async app => {
      app.post('/v1/probe/:id/:call', { config: { scope: 'runs:write' } }, async request =>
        scope.use(RUNS).send(request.identity.tenantId, request.params.id, { kind: 'answer', key: request.params.call, body: 'forty-two' }))
    })
  },
})
`

/** Two who may answer: the first one never can, the second parks the run once. Each notes in the file `asked` that it was. */
const TWO_PROVIDERS = `
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
const failed = { kind: 'failed', failure: { category: 'retryable', status: 503, message: 'down' } }
const park = { kind: 'answered', text: '', toolCalls: [{ id: 'c', name: 'park', arguments: '{}' }], finish: 'tool_calls' }
const done = { kind: 'answered', text: 'from two', toolCalls: [], finish: 'stop' }
export const plugin = definePlugin({
  name: 'two-providers',
  config: Type.Object({}),
  honours: ['model'],
  register(scope) {
    scope.tap('providerResolving', async ({ allow_fallback }, { workspace }) => {
      if (!allow_fallback) return undefined
      const candidate = (provider, reply) => ({
        provider,
        model: provider + '-1',
        client: {
          provider,
          async answer({ messages }) {
            await appendFile(join(workspace.root, 'asked'), provider + '\\n')
            return reply(messages.some(({ role }) => role === 'tool'))
          },
        },
      })
      return [candidate('one', () => failed), candidate('two', hasResult => (hasResult ? done : park))]
    }, { stage: STAGE.first - 1 })
  },
})
`

let bench: RestartBench
let respond: (prompt: string, results: readonly string[]) => ChatTurn

beforeEach(async () => {
  bench = await RestartBench.open({
    plugins: { probe: PROBE, 'two-providers': TWO_PROVIDERS },
    respond: ({ body }) => {
      const messages = body?.messages as { role: string; content: string }[]
      const prompt = messages.find(({ role }) => role === 'user')?.content ?? ''
      return respond(
        prompt,
        messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
      )
    },
  })
})
afterEach(() => bench.close())

const HANG: ChatTurn = { text: 'never seen', hang: true }
const call = (name: string, id = `call-${name}`): ChatTurn => ({ toolCalls: [{ id, name, arguments: {} }] })

test('a run whose model was answering is asked again and ends', async () => {
  respond = () => HANG
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'assistant.message.delta')
  respond = () => ({ text: 'second try' })
  const after = await bench.restart()
  expect(bench.daemon.claimed).toBe(1)
  const events = await after.events(id)
  expect(events.map(({ id }) => Number(id.split(':')[1]))).toEqual(events.map((_, index) => index))
  expect(events.filter(({ type }) => type === 'prompt.warning').map(({ payload }) => payload?.code)).toEqual([
    'resumed_after_restart',
  ])
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'second try', step: 1 } })
})

test('a mutating call that was cut short is reported as unknown and never made again', async () => {
  respond = (_, results) => (results.length === 0 ? call('slow_write') : { text: `told: ${results[0]}` })
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'tool.call.started')
  await expect
    .poll(() => readFile(join(bench.dir, 'workspace', 'effects'), 'utf8').catch(() => ''))
    .toBe('call-slow_write\n')
  const after = await bench.restart()
  const events = await after.events(id)
  expect(events.at(-1)?.payload?.output).toContain('outcome_unknown')
  expect(events.filter(({ type }) => type === 'tool.call.started')).toHaveLength(1)
  expect(await readFile(join(bench.dir, 'workspace', 'effects'), 'utf8')).toBe('call-slow_write\n')
})

test('a run that fell back to another provider stays with it, and asks the first one no more', async () => {
  const settings = { retry_max_attempts: 1 }
  const before = await bench.start(settings)
  const id = await before.start({ prompt: 'go', allow_fallback: true })
  await before.until(id, 'run.waiting_for_user')
  const after = await bench.restart(settings)
  await after.request('POST', `/v1/probe/${id}/c`)
  const events = await after.events(id)
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'from two' } })
  expect(await readFile(join(bench.workspace, 'asked'), 'utf8')).toBe('one\ntwo\ntwo\n')
  expect((await after.request('GET', `/v1/runs/${id}`)).body).toMatchObject({ provider_name: 'two', model: 'two-1' })
  expect(events.filter(({ type }) => type === 'provider.resolved').map(({ payload }) => payload?.provider)).toEqual([
    'one',
    'two',
  ])
})

test('a waiting run waits on after the restart, with the same call, and can be answered then', async () => {
  respond = (_, results) => (results.length === 0 ? call('park') : { text: `heard ${results[0]}` })
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'run.waiting_for_user')
  expect((await before.request('GET', `/v1/runs/${id}`)).body.status).toBe('waiting_for_user')
  const after = await bench.restart()
  expect((await after.request('GET', `/v1/runs/${id}`)).body.status).toBe('waiting_for_user')
  expect((await after.request('POST', `/v1/probe/${id}/call-park`)).body).toEqual({ kind: 'posted' })
  expect((await after.request('POST', `/v1/probe/${id}/call-park`)).body).toEqual({ kind: 'taken' })
  const events = await after.events(id)
  expect(events.filter(({ type }) => type === 'run.waiting_for_user')).toHaveLength(1)
  expect(events.at(-1)?.payload?.output).toBe('heard forty-two')
})

test('a mutating call that was waiting is unknown after the restart, and the run ends all the same', async () => {
  respond = (_, results) => (results.length === 0 ? call('park_write') : { text: `told ${results[0]}` })
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'run.waiting_for_user')
  const after = await bench.restart()
  const events = await after.events(id)
  expect(events.at(-1)?.payload?.output).toContain('outcome_unknown')
  expect((await after.request('GET', `/v1/runs/${id}`)).body.status).toBe('completed')
})

test('a run that waited for a plugin which is gone ends all the same', async () => {
  respond = (_, results) => (results.length === 0 ? call('park') : { text: 'went on' })
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'run.waiting_for_user')
  const after = await bench.restart({ plugin_dirs: [] })
  expect((await after.events(id)).at(-1)?.payload?.output).toBe('went on')
})

test('a daemon whose port is taken says so and leaves the runs alone', async () => {
  respond = () => HANG
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'llm.turn.requested')
  await bench.daemon.kill()
  const asked = bench.model.calls.length
  const squatter = createServer().listen(0, '127.0.0.1')
  await once(squatter, 'listening')
  const { port } = squatter.address() as AddressInfo
  await expect(bench.start({ addr: `127.0.0.1:${port}` })).rejects.toThrow('another program listens there')
  expect(bench.model.calls.length).toBe(asked)
  squatter.close()
})

test('an answer that was acknowledged right before the kill counts', async () => {
  respond = (_, results) => (results.length === 0 ? call('park') : results.length === 1 ? HANG : { text: 'no' })
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'run.waiting_for_user')
  await before.request('POST', `/v1/probe/${id}/call-park`)
  respond = (_, results) => (results.length === 0 ? call('park') : { text: `heard ${results[0]}` })
  const after = await bench.restart()
  expect((await after.events(id)).at(-1)?.payload?.output).toBe('heard forty-two')
})

test('a cancel that was acknowledged is carried out by the next process', async () => {
  respond = () => HANG
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'llm.turn.requested')
  // The kill follows the acknowledgement at once: which of the two processes ends the run is open, that it ends is not.
  await before.request('POST', `/v1/runs/${id}/cancel`)
  const after = await bench.restart()
  const ends = (await after.events(id)).filter(({ type }) => type.startsWith('run.c'))
  expect(ends.map(({ type }) => type)).toEqual(['run.cancelled'])
})

test('a queued run runs after the restart', async () => {
  respond = prompt => (prompt === 'first' ? HANG : { text: 'mine' })
  const before = await bench.start({ max_concurrent_runs: 1 })
  const first = await before.start('first')
  await before.until(first, 'llm.turn.requested')
  const second = await before.start('second')
  respond = prompt => ({ text: `after ${prompt}` })
  const after = await bench.restart({ max_concurrent_runs: 1 })
  expect(bench.daemon.claimed).toBe(2)
  const ends = await Promise.all([first, second].map(async id => (await after.events(id)).at(-1)?.payload?.output))
  expect(ends).toEqual(['after first', 'after second'])
  // It begins like a run that never waited.
  const types = (await after.events(second)).map(({ type }) => type)
  expect(types.slice(0, 5)).toEqual([
    'run.started',
    'run.queued',
    'provider.resolved',
    'prompt.resolved',
    'run.step.started',
  ])
})

test('a run whose wait nobody knows any more goes on, told so', async () => {
  respond = (_, results) => (results.length === 0 ? call('park') : { text: `heard ${results[0]}` })
  const before = await bench.start()
  const id = await before.start('go')
  await before.until(id, 'run.waiting_for_user')
  await rm(join(bench.dir, 'plugins', 'probe'), { recursive: true })
  const after = await bench.restart()
  expect((await after.events(id)).at(-1)).toMatchObject({
    type: 'run.completed',
    payload: { output: expect.stringContaining('there is no tool park') },
  })
})

test('a finished run and its conversation are there after a restart', async () => {
  respond = prompt => ({ text: `re: ${prompt}` })
  const before = await bench.start()
  const events = await before.run({ prompt: 'one', conversation_id: 'talk' })
  const after = await bench.restart()
  expect(bench.daemon.claimed).toBe(0)
  expect(await after.events(events[0]!.run_id)).toEqual(events)
  const next = await after.run({ prompt: 'two', conversation_id: 'talk' })
  expect(next.find(({ type }) => type === 'conversation.continued')?.payload?.prior_message_count).toBe(2)
  expect(
    (await after.request('GET', '/v1/runs?conversation_id=talk')).body.runs.map((run: { id: string }) => run.id),
  ).toEqual([next[0]!.run_id, events[0]!.run_id])
})

test('a second daemon on the same database is refused in plain words', async () => {
  respond = () => ({ text: 'x' })
  await bench.start()
  await expect(bench.start()).rejects.toThrow(/runs\.db/)
})
