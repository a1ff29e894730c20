import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { OPEN_IDENTITY } from '#contracts/identity'
import { RUN_STORE, RUNS } from '#contracts/ports'
import type { Runs } from '#contracts/run/runs'
import { type Booted, boot } from '#test/kit/boot'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { type ScriptedCall, scriptedPrompt, writeScriptedPlugin } from '#test/kit/scripted-plugin'
import { outcomeOf } from './answer-letter.js'
import { answerPending } from './answer-pending.js'
import { notePending } from './approval-state.js'
import { CheckpointView } from './checkpoint-view.js'
import { plugin } from './index.js'

const NO_RUNS = {} as Runs
const quiet = (): void => undefined
const NO_VIEW = new CheckpointView(undefined, { debug: quiet, info: quiet, warn: quiet, error: quiet })
describePlugin(plugin, {
  dir: import.meta.dirname,
  ports: [
    [RUNS, NO_RUNS],
    [RUN_STORE, { now: () => 0 }],
  ],
})

const trigger = (id = 'c1', n = 1) => ({ id, name: 'trigger', arguments: { n } })
const look = (id: string) => ({ id, name: 'look' })
const REQUIRED = 'tool.approval_required'

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-approvals-'))
  await writeScriptedPlugin(join(dir, 'plugins'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

const settings = (more: object = {}) => ({ plugin_dirs: [join(dir, 'plugins')], ...more })
const effects = () => readFile(join(dir, 'workspace', 'effects'), 'utf8').catch(() => '')
/** What a run is asked for, and the events around its calls. */
const request = (approval: string, ...steps: readonly (readonly ScriptedCall[])[]) => ({
  prompt: scriptedPrompt(...steps),
  permissions: { approval },
})
const brief = (events: Awaited<ReturnType<Booted['events']>>) =>
  events
    .filter(({ type }) => type.startsWith('tool.'))
    .map(({ type, payload }) => [type.slice('tool.'.length), payload?.call_id])

describe('a daemon', () => {
  let daemon: Booted
  beforeEach(async () => {
    await rm(join(dir, 'workspace', 'effects'), { force: true })
    daemon = await boot({ dir, settings: settings() })
  })
  afterEach(() => daemon.stop())
  const post = (id: string, verb: string, body?: unknown) => daemon.request('POST', `/v1/runs/${id}/${verb}`, body)

  test('a call that changes something waits, is approved as soon as it is announced, and runs with what was shown', async () => {
    const id = await daemon.start(request('destructive', [look('c0'), trigger()]))
    const { payload } = await daemon.until(id, REQUIRED)
    expect(payload).toMatchObject({ call_id: 'c1', tool: 'trigger', arguments: '{"n":1}' })
    expect(Date.parse(payload?.deadline_at) - Date.now()).toBeGreaterThan(290_000)
    expect((await daemon.request('GET', `/v1/runs/${id}`)).body.status).toBe('waiting_for_approval')
    expect(await effects()).toBe('')
    expect(await post(id, 'approve')).toMatchObject({ status: 200, body: { status: 'approved' } })
    const events = await daemon.events(id)
    expect(brief(events)).toEqual([
      ['call.started', 'c0'],
      ['call.completed', 'c0'],
      ['call.started', 'c1'],
      ['approval_required', 'c1'],
      ['approval_granted', 'c1'],
      ['call.completed', 'c1'],
    ])
    expect(events.at(-1)?.payload?.output).toBe('["seen","pulled 1"]')
    expect(await effects()).toBe(`${id} 1\n`)
    expect(await post(id, 'approve')).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
  })

  test('the event names the checkpoint, which shows the answer as soon as whoever answered is told', async () => {
    for (const [verb, status] of [
      ['approve', 'approved'],
      ['deny', 'denied'],
    ] as const) {
      const id = await daemon.start(request('destructive', [trigger()]))
      const { payload } = await daemon.until(id, REQUIRED)
      const checkpoint = async () => (await daemon.request('GET', `/v1/checkpoints/${payload?.checkpoint_id}`)).body
      expect(await checkpoint()).toMatchObject({ status: 'pending', call_id: 'c1', run_id: id })
      expect((await post(id, verb)).status).toBe(200)
      expect(await checkpoint()).toMatchObject({ status })
      await daemon.events(id)
    }
  })

  test('models use call ids again: a late answer that names its checkpoint answers no later question', async () => {
    const id = await daemon.start(request('all', [look('same')], [look('same')]))
    const checkpointAfter = async (former?: string): Promise<string> => {
      const now = async () => (await daemon.request('GET', `/v1/runs/${id}/checkpoint`)).body.id ?? former
      await expect.poll(now).not.toBe(former)
      return now()
    }
    const first = await checkpointAfter()
    expect((await post(id, 'approve', { call_id: 'same', checkpoint_id: first })).status).toBe(200)
    const second = await checkpointAfter(first)
    for (const verb of ['approve', 'deny'])
      expect(await post(id, verb, { call_id: 'same', checkpoint_id: first })).toMatchObject({
        status: 409,
        body: { error: { code: 'conflict', message: expect.stringContaining(second) } },
      })
    expect((await post(id, 'approve', { checkpoint_id: second })).status).toBe(200)
    expect((await daemon.events(id)).at(-1)?.payload?.output).toBe('["seen","seen"]')
  })

  test('a denied call is reported to the model, quietly, and the run goes on', async () => {
    const id = await daemon.start(request('destructive', [trigger()]))
    await daemon.until(id, REQUIRED)
    expect(await post(id, 'deny', { call_id: 'c1', message: 'not today' })).toMatchObject({
      status: 200,
      body: { status: 'denied' },
    })
    const events = await daemon.events(id)
    expect(brief(events)).toEqual([
      ['call.started', 'c1'],
      ['approval_required', 'c1'],
      ['approval_denied', 'c1'],
      ['call.completed', 'c1'],
    ])
    const denied = events.find(({ type }) => type === 'tool.approval_denied')?.payload
    expect([denied?.message, denied?.reason, denied?.decided_by]).toEqual(['not today', undefined, undefined])
    const completed = events.find(({ type }) => type === 'tool.call.completed')?.payload
    expect(completed?.duration_ms).toBe(0)
    expect(JSON.parse(completed?.output)).toMatchObject({
      error: { code: 'permission_denied', message: expect.stringContaining('not today') },
    })
    expect(events.at(-1)?.type).toBe('run.completed')
    expect(await effects()).toBe('')
  })

  test('a message that says nothing is none', async () => {
    const id = await daemon.start(request('destructive', [trigger()]))
    await daemon.until(id, REQUIRED)
    await post(id, 'deny', { message: ' \n' })
    const events = await daemon.events(id)
    expect(events.find(({ type }) => type === 'tool.approval_denied')?.payload?.message).toBeUndefined()
    const { output } = events.find(({ type }) => type === 'tool.call.completed')?.payload ?? {}
    expect(JSON.parse(output).error.message).toBe('A person refused this call.')
  })

  test('with all, calls that would run side by side are asked about one after the other', async () => {
    const id = await daemon.start(request('all', [look('a'), look('b')], [look('a')]))
    for (const [index, call] of ['a', 'b', 'a'].entries()) {
      await expect.poll(async () => (await daemon.request('GET', `/v1/runs/${id}/checkpoint`)).body.call_id).toBe(call)
      if (index === 0)
        expect(await post(id, 'approve', { call_id: 'b' })).toMatchObject({
          status: 409,
          body: { error: { code: 'conflict' } },
        })
      expect((await post(id, index === 1 ? 'deny' : 'approve', { call_id: call })).status).toBe(200)
    }
    const events = await daemon.events(id)
    expect(JSON.parse(events.at(-1)?.payload?.output).map((text: string) => text.slice(0, 8))).toEqual([
      'seen',
      '{"error"',
      'seen',
    ])
  })

  test('a rule can ask where the policy does not', async () => {
    const id = await daemon.start({ prompt: scriptedPrompt([look('c1')]), rules: [{ pattern: 'look', effect: 'ask' }] })
    await daemon.until(id, REQUIRED)
    expect((await post(id, 'approve')).status).toBe(200)
    expect((await daemon.events(id)).at(-1)?.payload?.output).toBe('["seen"]')
  })

  test('a rule that allows does not spare a call the approval', async () => {
    const id = await daemon.start({ ...request('all', [look('c1')]), rules: [{ pattern: 'look', effect: 'allow' }] })
    await daemon.until(id, REQUIRED)
    expect((await post(id, 'deny')).status).toBe(200)
    expect((await daemon.events(id)).at(-1)?.payload?.output).toContain('permission_denied')
  })

  test('cancelling takes the question back', async () => {
    const id = await daemon.start(request('destructive', [trigger()]))
    await daemon.until(id, REQUIRED)
    const checkpoint = (await daemon.request('GET', `/v1/runs/${id}/checkpoint`)).body
    expect((await post(id, 'cancel')).status).toBe(200)
    expect([404, 409]).toContain((await post(id, 'approve')).status)
    expect((await daemon.events(id)).at(-1)?.type).toBe('run.cancelled')
    expect((await daemon.request('GET', `/v1/checkpoints/${checkpoint.id}`)).body.status).toBe('expired')
    expect((await daemon.request('POST', `/v1/checkpoints/${checkpoint.id}/resume`, {})).status).toBe(409)
    expect(await effects()).toBe('')
  })

  test.each([
    ['deny', 'run.completed', 'permission_denied'],
    ['fail', 'run.failed', 'nobody to give one'],
  ])('a run without a person (%s) asks nobody', async (unattended, end, said) => {
    const events = await daemon.run({
      prompt: scriptedPrompt([trigger()]),
      permissions: { approval: 'destructive', unattended },
    })
    expect(brief(events).map(([type]) => type)).not.toContain('approval_required')
    expect(events.at(-1)?.type).toBe(end)
    expect(JSON.stringify(events.at(-1)?.payload)).toContain(said)
    expect(await effects()).toBe('')
  })

  test.each([
    ['approve', { option: 1 }, 'option'],
    ['approve', { call_id: {} }, 'call_id'],
    ['deny', { call_id: 7 }, 'call_id'],
    ['deny', { message: [] }, 'message'],
    ['deny', '[]', 'body'],
  ])('%s with %j is refused, naming the field', async (verb, body, field) => {
    const reply = await post('run_x', verb, body)
    expect(reply).toMatchObject({ status: 400 })
    expect(reply.body.error.message).toContain(field)
  })

  test('a run that is not there, or waits for nothing, is not found', async () => {
    expect((await post('run_x', 'approve')).status).toBe(404)
    const events = await daemon.run(request('none', [trigger()]))
    expect((await post(events[0]!.run_id, 'deny')).body.error).toEqual({
      code: 'not_found',
      message: `nothing is waiting for approval in run ${events[0]!.run_id}; it is completed`,
    })
  })

  test.each([
    [{ approval: 'some' }, 'permissions.approval'],
    [{ approval: true }, 'permissions.approval'],
    [{ unattended: 'maybe' }, 'permissions.unattended'],
  ])('%j is refused, naming %s', async (permissions, field) => {
    const reply = await daemon.request('POST', '/v1/runs', { prompt: '[]', permissions })
    expect(reply.status).toBe(400)
    expect(reply.body.error.message).toContain(field)
  })
})

test('what is shown is what runs: after the hooks that rewrite arguments', async () => {
  const plugins = join(dir, 'amending')
  await mkdir(join(plugins, 'amender'), { recursive: true })
  await writeFile(
    join(plugins, 'amender', 'index.js'),
    `import { Type } from '@sinclair/typebox'
    import { definePlugin } from '#contracts/plugin'
    export const plugin = definePlugin({
      name: 'amender',
      config: Type.Object({}),
      register: scope => scope.tap('toolAmending', async call => ({ ...call, args: { n: call.args.n + 41 } })),
    })`,
  )
  const daemon = await boot({ dir, settings: settings({ plugin_dirs: [join(dir, 'plugins'), plugins] }) })
  try {
    const id = await daemon.start(request('destructive', [trigger()]))
    expect((await daemon.until(id, REQUIRED)).payload?.arguments).toBe('{"n":42}')
    expect((await daemon.request('POST', `/v1/runs/${id}/approve`)).status).toBe(200)
    await daemon.events(id)
    expect(await effects()).toContain(`${id} 42\n`)
  } finally {
    await daemon.stop()
  }
})

test.each([
  ['a run that is being cancelled', { signal: AbortSignal.abort() }, 'conflict'],
  ['a run that waits no more', { status: 'running' as const }, 'not_found'],
])('%s takes no answer, although its question is still on record', async (_, change, code) => {
  const run = fakeRun({ status: 'waiting_for_approval', ...change })
  notePending(run, { key: 'k', call_id: 'c1', tool: 'trigger', deadline_at: '' })
  const sent: unknown[] = []
  const runs = { active: () => run, send: async (...letter: unknown[]) => sent.push(letter) } as unknown as Runs
  const answering = answerPending(
    { runs, checkpoints: NO_VIEW, ceilings: undefined },
    OPEN_IDENTITY,
    run.id,
    {},
    { decision: 'approved' },
  )
  await expect(answering).rejects.toMatchObject({ code })
  expect(sent).toEqual([])
})

test('another plugin may ask with options; one that was not offered picks none', async () => {
  const options = [{ id: 'a', label: 'First' }]
  const letterWith = (option: string) => ({ id: '1', kind: 'approval', body: { decision: 'approved', option } })
  expect(outcomeOf(letterWith('a'), options)).toEqual({ kind: 'approved', option: options[0] })
  expect(outcomeOf(letterWith('b'), options)).toEqual({ kind: 'approved' })
  for (const body of [undefined, null, 'approved', {}, { decision: 'ended' }, { resumed: true, payload: {} }])
    expect(outcomeOf({ id: '1', kind: 'approval', body }, options)).toEqual({ kind: 'resumed' })
})

test('nobody answering is told apart from a refusal, and the run goes on', async () => {
  const daemon = await boot({ dir, settings: settings({ ask_user_timeout_seconds: 0.2 }) })
  try {
    const events = await daemon.run(request('destructive', [trigger()]))
    const denied = events.find(({ type }) => type === 'tool.approval_denied')
    expect(denied?.payload).toMatchObject({ call_id: 'c1', reason: 'timeout' })
    expect(events.at(-1)).toMatchObject({
      type: 'run.completed',
      payload: { output: expect.stringContaining('approval_timeout') },
    })
    expect((await daemon.request('POST', `/v1/runs/${events[0]!.run_id}/approve`)).status).toBe(404)
  } finally {
    await daemon.stop()
  }
})

test('in permissions mode reading passes, and all else needs a rule or a person', async () => {
  const daemon = await boot({ dir, settings: settings({ tool_approval_mode: 'permissions' }) })
  try {
    const allowed = {
      prompt: scriptedPrompt([look('a'), trigger('b')]),
      rules: [{ pattern: 'trigger', effect: 'allow' }],
    }
    expect(brief(await daemon.run(allowed)).map(([type]) => type)).not.toContain('approval_required')
    const id = await daemon.start(scriptedPrompt([look('a'), trigger('b')]))
    expect((await daemon.until(id, REQUIRED)).payload?.call_id).toBe('b')
    expect((await daemon.request('POST', `/v1/runs/${id}/deny`)).status).toBe(200)
    expect((await daemon.events(id)).at(-1)?.payload?.output).toContain('permission_denied')
  } finally {
    await daemon.stop()
  }
})
