import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CheckpointDraft } from '#contracts/checkpoint'
import { Failure } from '#contracts/errors'
import { RECORDS, RUN_STORE, RUNS } from '#contracts/ports'
import type { Records } from '#contracts/store/records'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import { type Booted, boot } from '#test/kit/boot'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { scriptedPrompt, writeScriptedPlugin } from '#test/kit/scripted-plugin'
import { plugin } from './index.js'
import { StoredCheckpoints } from './stored-checkpoints.js'

/** A run port that takes one letter per key. */
function onceRuns() {
  const posted: unknown[] = []
  const keys = new Set<string>()
  return {
    posted,
    active: () => undefined,
    send: async (_tenant: string, run: string, letter: { key: string }) => {
      if (run === 'run_over') return { kind: 'refused', status: 'completed' }
      if (keys.has(letter.key)) return { kind: 'taken' }
      keys.add(letter.key)
      posted.push(letter)
      return { kind: 'posted' }
    },
  }
}
const portsWith = (runs: unknown, records: Records = createMemoryRecords()) =>
  [
    [RECORDS, records],
    [RUN_STORE, { now: () => Date.parse('2026-01-02T03:04:05Z') }],
    [RUNS, runs],
  ] as const

describePlugin(plugin, { dir: import.meta.dirname, ports: portsWith(onceRuns()) })

const draft: CheckpointDraft = {
  kind: 'user_input',
  run_id: 'run_a',
  call_id: 'c1',
  tool: 'AskUserQuestion',
  questions: '',
  letter: { kind: 'answer', key: 'k1' },
}
const store = () => new StoredCheckpoints(createMemoryRecords(), () => 0)

describe('the port', () => {
  test('opening the same pause twice is one checkpoint; another letter makes another', async () => {
    const checkpoints = store()
    const first = await checkpoints.open('t', draft)
    expect(first).toMatchObject({ id: expect.stringMatching(/^checkpoint_[0-9a-f-]{36}$/), status: 'pending' })
    expect(Object.keys(first)).not.toContain('questions')
    expect(Object.keys(first)).not.toContain('letter')
    expect(await checkpoints.open('t', draft)).toEqual(first)
    expect((await checkpoints.open('t', { ...draft, letter: { kind: 'answer', key: 'k2' } })).id).not.toBe(first.id)
    expect((await checkpoints.open('u', draft)).id).not.toBe(first.id)
  })

  test('it is settled once, whoever tries', async () => {
    const checkpoints = store()
    const { id } = await checkpoints.open('t', draft)
    const won = await Promise.all(
      (['approved', 'denied', 'resumed', 'expired'] as const).map(status => checkpoints.settle('t', id, status)),
    )
    expect(won.filter(Boolean)).toHaveLength(1)
    expect(await checkpoints.settle('t', id, 'denied')).toBe(false)
    expect((await checkpoints.open('t', draft)).status).not.toBe('pending')
  })

  test('the pending one of a run is found until it is settled, by its tenant only', async () => {
    const checkpoints = store()
    const { id } = await checkpoints.open('t', draft)
    expect((await checkpoints.pendingOf('t', 'run_a'))?.id).toBe(id)
    expect(await checkpoints.pendingOf('t', 'run_')).toBeUndefined()
    expect(await checkpoints.pendingOf('u', 'run_a')).toBeUndefined()
    expect(await checkpoints.settle('u', id, 'denied')).toBe(false)
    await checkpoints.settle('t', id, 'resumed')
    expect(await checkpoints.pendingOf('t', 'run_a')).toBeUndefined()
  })
})

describe('a run that is over', () => {
  const over = (isResumed = false) => ({ id: 'run_a', tenantId: 't', isResumed })

  test('waits for nothing: what its owner could not settle expires, and nothing of other runs', async () => {
    const checkpoints = store()
    const { id } = await checkpoints.open('t', draft)
    const other = await checkpoints.open('t', { ...draft, run_id: 'run_b' })
    await checkpoints.expire(over())
    expect((await checkpoints.read('t', id))?.status).toBe('expired')
    expect((await checkpoints.read('t', other.id))?.status).toBe('pending')
  })

  test('keeps how its pauses ended, and is looked at once', async () => {
    const records = createMemoryRecords()
    const { id } = await new StoredCheckpoints(records, () => 0).open('t', draft)
    const later = new StoredCheckpoints(records, () => 0)
    await later.expire(over())
    expect((await later.read('t', id))?.status).toBe('pending')
    await later.expire(over(true))
    expect((await later.read('t', id))?.status).toBe('expired')
    const settled = await later.open('t', { ...draft, call_id: 'c2' })
    await later.settle('t', settled.id, 'approved')
    await later.expire(over())
    expect((await later.read('t', settled.id))?.status).toBe('approved')
  })
})

describe('the routes', () => {
  async function open(given: CheckpointDraft, change: (records: Records) => Partial<Records> = () => ({})) {
    const runs = onceRuns()
    const memory = createMemoryRecords()
    const opened = await openPlugin(plugin, { ports: portsWith(runs, { ...memory, ...change(memory) }) })
    const port = opened.generation.contributions.services.values().next().value as StoredCheckpoints
    const { id } = await port.open('default', given)
    const resume = async (payload?: object) =>
      (await opened.app.inject({ method: 'POST', url: `/v1/checkpoints/${id}/resume`, payload: payload ?? {} }))
        .statusCode
    const read = async () => (await opened.app.inject({ method: 'GET', url: `/v1/checkpoints/${id}` })).json()
    return { opened, runs, resume, read, id }
  }

  test('a question is answered with the text values of the payload', async () => {
    const { opened, runs, resume, read } = await open(draft)
    const payload = { 'Which one?': 'this', other: 3 }
    expect(await resume({ payload })).toBe(200)
    const body = { answers: { 'Which one?': 'this' }, payload }
    expect(runs.posted).toEqual([{ kind: 'answer', key: 'k1', body }])
    expect(await read()).toMatchObject({ status: 'resumed', resume_payload: '{"Which one?":"this","other":3}' })
    expect(await resume({ payload: {} })).toBe(409)
    await opened.close()
  })

  test('what no run waits for is settled by the checkpoint alone, once', async () => {
    const { opened, runs, resume } = await open({ kind: 'external_resume', workflow_run_id: 'wf_1' })
    const replies = await Promise.all([resume({ payload: { a: 1 } }), resume(), resume()])
    expect(replies.toSorted()).toEqual([200, 409, 409])
    expect(runs.posted).toEqual([])
    await opened.close()
  })

  test('an answer that has won is told so, also when the checkpoint cannot be written just then', async () => {
    const { opened, runs, resume } = await open(draft, records => ({
      collection: definition => {
        const kept = records.collection(definition)
        const put: typeof kept.put = async (...args) => {
          if (args[3] !== 0) throw new Failure('store_unavailable', 'busy')
          return kept.put(...args)
        }
        return { ...kept, put }
      },
    }))
    expect(await resume({ payload: {} })).toBe(200)
    expect(runs.posted).toHaveLength(1)
    await opened.close()
  })

  test('a run that is over cannot be resumed', async () => {
    const { opened, resume, read } = await open({ ...draft, run_id: 'run_over' })
    expect(await resume()).toBe(409)
    expect((await read()).status).toBe('pending')
    await opened.close()
  })

  test.each([[{ payload: 'x' }], [{ payload: [] }], [{ payload: 1 }]])(
    '%j is refused, naming the field',
    async body => {
      const { opened, id } = await open(draft)
      const reply = await opened.app.inject({ method: 'POST', url: `/v1/checkpoints/${id}/resume`, payload: body })
      expect(reply.statusCode).toBe(400)
      expect(reply.json().error.message).toContain('payload')
      await opened.close()
    },
  )
})

describe('a daemon', () => {
  let dir = ''
  let daemon: Booted
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'runwright-checkpoints-'))
    await writeScriptedPlugin(join(dir, 'plugins'))
    daemon = await boot({ dir, isDurable: true, settings: { plugin_dirs: [join(dir, 'plugins')] } })
  })
  afterAll(async () => {
    await daemon.stop()
    await rm(dir, { recursive: true, force: true })
  })

  test('resuming an approval goes on without the call', async () => {
    const id = await daemon.start({
      prompt: scriptedPrompt([{ id: 'c1', name: 'look' }]),
      permissions: { approval: 'all' },
    })
    const required = await daemon.until(id, 'tool.approval_required')
    const { body: checkpoint } = await daemon.request('GET', `/v1/runs/${id}/checkpoint`)
    expect(checkpoint).toMatchObject({
      kind: 'approval',
      status: 'pending',
      run_id: id,
      call_id: 'c1',
      tool: 'look',
      args: '{}',
      deadline_at: required.payload?.deadline_at,
    })
    const path = `/v1/checkpoints/${checkpoint.id}`
    expect((await daemon.request('GET', path)).body).toEqual(checkpoint)
    expect(await daemon.request('POST', `${path}/resume`, { payload: { why: 'later' } })).toMatchObject({
      status: 200,
      body: { status: 'resumed' },
    })
    expect((await daemon.request('POST', `${path}/resume`, {})).status).toBe(409)
    const events = await daemon.events(id)
    expect(events.find(({ type }) => type === 'tool.approval_denied')?.payload).toMatchObject({ reason: 'resumed' })
    expect(events.at(-1)?.payload?.output).toContain('permission_denied')
    expect((await daemon.request('GET', path)).body).toMatchObject({
      status: 'resumed',
      resume_payload: '{"why":"later"}',
    })
    expect((await daemon.request('GET', `/v1/runs/${id}/checkpoint`)).status).toBe(404)
  })

  test('what is not there is not found', async () => {
    expect((await daemon.request('GET', '/v1/checkpoints/checkpoint_x')).status).toBe(404)
    expect((await daemon.request('POST', '/v1/checkpoints/checkpoint_x/resume', {})).status).toBe(404)
    expect((await daemon.request('POST', '/v1/checkpoints/checkpoint_x/resume', '{')).status).toBe(400)
  })
})
