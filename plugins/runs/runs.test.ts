import { afterEach, describe, expect, test } from 'vitest'
import { EVENTS, RUNS } from '#contracts/ports'
import type { RunRecord } from '#contracts/run/run'
import type { Runs } from '#contracts/run/runs'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { type OpenPlugin, openPlugin } from '#test/kit/open-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { plugin } from './index.js'
import { listItem, publicRun, summaryOf } from './views.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

const RECORD: RunRecord = {
  id: 'run_1',
  prompt: 'mend it',
  model: 'm',
  status: 'completed',
  tenant_id: 'default',
  conversation_id: 'run_1',
  agent_id: 'default',
  usage_totals: { prompt_tokens_total: 80, completion_tokens_total: 5, total_tokens: 85, last_turn_tokens: 85 },
  cost_totals: { cost_usd_total: 0.5, last_turn_cost_usd: 0.5, cost_status: 'available' },
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:01.000Z',
  request: { prompt: 'mend it' },
  policy: fakeRun().policy,
  progress: {
    step: 2,
    turns: 2,
    requested: 3,
    cached_prompt_tokens: 20,
    tool_calls: [{ tool_name: 'ls', step: 1 }],
    cost_pico_usd: '500000000000',
    next_seq: 9,
  },
  initiator_api_key_prefix: 'secret-ish',
}

describe('views', () => {
  test('the Run object shows what callers may see and leaves out what is empty', () => {
    const { request, policy, progress, initiator_api_key_prefix, ...shown } = RECORD
    expect(publicRun(RECORD)).toEqual(shown)
    expect(publicRun({ ...RECORD, output: '', error: '', provider_name: '' })).toEqual(shown)
    expect(publicRun({ ...RECORD, output: 'ok', tenant_label: 'acme' })).toMatchObject({
      output: 'ok',
      tenant_id: 'acme',
    })
  })

  test('a row of the list has no totals', () => {
    expect(Object.keys(listItem(RECORD)).filter(key => key.endsWith('_totals'))).toEqual([])
  })

  test('the summary counts requested turns as steps and divides by no zero', () => {
    expect(summaryOf({ ...RECORD, status: 'failed', error: 'no' })).toEqual({
      run_id: 'run_1',
      status: 'failed',
      steps_taken: 3,
      total_prompt_tokens: 80,
      total_completion_tokens: 5,
      total_cost_usd: 0.5,
      cost_status: 'available',
      tool_calls: [{ tool_name: 'ls', step: 1 }],
      cache_hit_rate: 0.25,
      error: 'no',
    })
    const unused = { prompt_tokens_total: 0, completion_tokens_total: 0, total_tokens: 0, last_turn_tokens: 0 }
    expect(summaryOf({ ...RECORD, usage_totals: unused }).cache_hit_rate).toBe(0)
  })
})

let opened: OpenPlugin | undefined
afterEach(async () => {
  await opened?.close()
  opened = undefined
})

/** The routes over a run port of which only this is known. */
async function serve(runs: Partial<Runs>) {
  const ports = standInPorts(plugin)
  opened = await openPlugin(plugin, {
    ports: [
      [RUNS, { ...(ports.get(RUNS.id) as Runs), ...runs }],
      [EVENTS, ports.get(EVENTS.id)],
    ],
  })
  return opened.app
}

describe('routes', () => {
  test('a start hands on the body and the key, with a fingerprint that the order of members does not change', async () => {
    const asked: Parameters<Runs['start']>[] = []
    const app = await serve({
      start: async (...all) => {
        asked.push(all)
        return { run: { ...RECORD, status: 'running' }, isReplay: asked.length > 1 }
      },
    })
    const post = (payload: string) =>
      app.inject({
        method: 'POST',
        url: '/v1/runs',
        payload,
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
      })
    const [first, second] = [await post('{"prompt":"a","model":"m"}'), await post('{"model":"m","prompt":"a"}')]
    expect([first.statusCode, first.json(), first.headers['content-location']]).toEqual([
      202,
      { run_id: 'run_1', status: 'running' },
      '/v1/runs/run_1',
    ])
    expect([first, second].map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true'])
    const [one, two] = asked.map(([, , options]) => options?.idempotency)
    expect(one).toEqual({ key: 'k', fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/), ttlMs: 24 * 3_600_000 })
    expect(two?.fingerprint).toBe(one?.fingerprint)
  })

  test.each([' ', 'k'.repeat(256)])('a bad Idempotency-Key is refused by its name', async key => {
    const app = await serve({})
    const reply = await app.inject({
      method: 'POST',
      url: '/v1/runs',
      payload: { prompt: 'a' },
      headers: { 'idempotency-key': key },
    })
    expect([reply.statusCode, reply.json().error.message]).toEqual([400, expect.stringMatching(/^Idempotency-Key/)])
  })

  test('a list needs a store that lasts, knows its statuses, and says where the next page begins', async () => {
    const nowhere = await serve({})
    expect((await nowhere.inject('/v1/runs')).statusCode).toBe(501)
    await opened?.close()
    const asked: unknown[] = []
    const app = await serve({
      isDurable: true,
      list: async (_tenant, query) => {
        asked.push(query)
        return [RECORD]
      },
    })
    const page = await app.inject('/v1/runs?status=completed&limit=1&after=run_0')
    expect([page.json().runs.length, page.headers['x-next-after'], asked]).toEqual([
      1,
      'run_1',
      [{ status: 'completed', limit: 1, afterId: 'run_0' }],
    ])
    expect((await app.inject('/v1/runs?status=done')).json().error.message).toContain('status: must be one of queued')
  })

  test('what is unknown is not found, what is unfinished has no summary', async () => {
    const app = await serve({
      read: async (_tenant, id) => (id === 'run_1' ? { ...RECORD, status: 'running' } : undefined),
    })
    const codes = async (...urls: string[]) =>
      Promise.all(urls.map(async url => (await app.inject(url)).json().error?.code))
    expect(
      await codes('/v1/runs/run_2', '/v1/runs/run_2/summary', '/v1/runs/run_2/events', '/v1/runs/run_1/summary'),
    ).toEqual(['not_found', 'not_found', 'not_found', 'run_not_finished'])
    expect((await app.inject({ method: 'POST', url: '/v1/runs/run_2/cancel' })).statusCode).toBe(404)
  })
})
