import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { EVENT_PAYLOADS, type EventType } from '#contracts/event/payloads'
import { checkShape } from '#kernel/schema-check'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'

let live: Booted | undefined
const start = async (options?: BootOptions): Promise<Booted> => {
  live = await boot(options)
  return live
}
afterEach(async () => {
  await live?.stop()
  live = undefined
})

const types = (events: readonly { readonly type: string }[]): string[] => events.map(({ type }) => type)
const turn = (...calls: readonly [string, object][]) => ({
  content: '',
  tool_calls: calls.map(([name, args], index) => ({
    id: `call_${name}_${index}`,
    name,
    arguments: JSON.stringify(args),
  })),
})

test('a one-turn run shows the whole sequence, numbered without holes, each payload as the contract has it', async () => {
  const { run } = await start({
    turns: [{ content: 'hello there', usage: { prompt: 10, completion: 5 }, cost_usd: 0.25 }],
  })
  const events = await run('hi')
  const known = types(events).filter(type => type !== 'assistant.message.delta')
  expect(known).toEqual([
    'run.started',
    'provider.resolved',
    'prompt.resolved',
    'run.step.started',
    'llm.turn.requested',
    'usage.delta',
    'llm.turn.completed',
    'assistant.message',
    'run.step.completed',
    'run.completed',
  ])
  const problems = events.map(({ type, payload }) => checkShape(EVENT_PAYLOADS[type as EventType], payload))
  expect(problems.filter(Boolean)).toEqual([])
  expect(events.map(({ id }) => Number(id.split(':')[1]))).toEqual(events.map((_, index) => index))
  expect(events.every(({ payload }) => payload?.schema_version === 1 && typeof payload.step === 'number')).toBe(true)
  expect(events.at(-1)?.payload).toMatchObject({
    output: 'hello there',
    usage_totals: { prompt_tokens_total: 10, completion_tokens_total: 5, total_tokens: 15, last_turn_tokens: 15 },
    cost_totals: { cost_usd_total: 0.25, last_turn_cost_usd: 0.25, cost_status: 'available' },
  })
})

test('tool calls of a turn are answered in order, and their results reach the next turn', async () => {
  const { run, request, workspace } = await start({
    turns: [
      turn(['write', { path: 'a.txt', content: 'one\n' }]),
      turn(['read', { path: 'a.txt' }], ['ls', { path: '.' }]),
      { content: 'all done' },
    ],
  })
  const events = await run('go')
  const calls = events.filter(({ type }) => type === 'tool.call.completed').map(({ payload }) => payload)
  expect(calls.map(call => call?.tool)).toEqual(['write', 'read', 'ls'])
  expect(calls.map(call => call?.error)).toEqual([undefined, undefined, undefined])
  expect(await readFile(join(workspace, 'a.txt'), 'utf8')).toBe('one\n')
  const id = events[0]?.run_id
  expect((await request('GET', `/v1/runs/${id}/summary`)).body).toMatchObject({
    steps_taken: 3,
    tool_calls: [
      { tool_name: 'write', step: 1 },
      { tool_name: 'read', step: 2 },
      { tool_name: 'ls', step: 2 },
    ],
  })
})

test('a wrong call is told to the model and the run goes on', async () => {
  const { run } = await start({
    turns: [turn(['nope', {}], ['read', { path: 5 }]), { content: 'sorry' }],
  })
  const events = await run('go')
  const errors = events.filter(({ type }) => type === 'tool.call.completed').map(({ payload }) => payload?.error)
  expect(errors).toEqual([expect.stringContaining('no tool nope'), expect.stringContaining('path')])
  expect(types(events).at(-1)).toBe('run.completed')
})

test('max_steps ends the run as failed with its reason', async () => {
  const { run } = await start({ turns: [turn(['ls', {}]), turn(['ls', {}]), { content: 'never' }] })
  const events = await run({ prompt: 'go', max_steps: 2 })
  expect(events.at(-1)).toMatchObject({
    type: 'run.failed',
    payload: { error: 'max steps (2) reached', reason: 'max_steps_reached', max_steps: 2 },
  })
  expect(types(events).filter(type => type === 'run.step.started')).toHaveLength(2)
  expect(types(events)).toContain('step_budget.pressure')
})

test('max_turns is exhausted by name, then the run fails', async () => {
  const { run } = await start({ turns: [turn(['ls', {}]), { content: 'never' }] })
  const events = await run({ prompt: 'go', max_turns: 1 })
  expect(types(events).slice(-2)).toEqual(['max_turns.exhausted', 'run.failed'])
  expect(events.at(-1)?.payload).toMatchObject({ reason: 'max_turns_exhausted', max_turns: 1 })
})

test('the cost ceiling completes the run with the text of that turn and runs none of its calls', async () => {
  const { run, workspace } = await start({
    turns: [
      {
        ...turn(['write', { path: 'x', content: 'x' }]),
        content: 'so far',
        cost_usd: 2,
        usage: { prompt: 1, completion: 1 },
      },
    ],
  })
  const events = await run({ prompt: 'go', max_cost_usd: 1.5 })
  expect(types(events).slice(-3)).toEqual(['run.cost_limit_reached', 'run.step.completed', 'run.completed'])
  expect(events.at(-1)?.payload).toMatchObject({ output: 'so far' })
  await expect(readFile(join(workspace, 'x'))).rejects.toThrow()
})

test('three empty answers in a row fail the run; the step number is not used up by them', async () => {
  const { run } = await start({ turns: [] })
  const events = await run('go')
  expect(events.filter(({ type }) => type === 'run.step.started').map(({ payload }) => payload?.step)).toEqual([
    1, 1, 1,
  ])
  expect(events.at(-1)).toMatchObject({
    type: 'run.failed',
    payload: { error: expect.stringMatching(/^max_empty_responses/) },
  })
})

test('an empty answer that is followed by text completes', async () => {
  const { run } = await start({ turns: [{ content: '' }, { content: 'there' }] })
  const events = await run('go')
  expect(types(events).filter(type => type === 'llm.empty_response.retry')).toHaveLength(1)
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'there' } })
})

test('the same conversation goes on with its history, once each', async () => {
  const { run, request } = await start({ turns: [{ content: 'first' }, { content: 'second' }] })
  await run({ prompt: 'one', conversation_id: 'talk' })
  const events = await run({ prompt: 'two', conversation_id: 'talk' })
  const continued = events.find(({ type }) => type === 'conversation.continued')
  expect(continued?.payload).toMatchObject({ conversation_id: 'talk', prior_message_count: 2 })
  expect((await request('GET', `/v1/runs/${events[0]?.run_id}`)).body).toMatchObject({ conversation_id: 'talk' })
})

test('cancel ends a run whose model hangs, once, and says so twice', async () => {
  const { start: begin, request, events, until } = await start({ turns: [{ content: 'late', delay_ms: 600_000 }] })
  const id = await begin('go')
  await until(id, 'llm.turn.requested')
  expect(await request('POST', `/v1/runs/${id}/cancel`)).toMatchObject({ status: 200, body: { status: 'cancelling' } })
  const seen = await events(id)
  expect(types(seen).filter(type => type.startsWith('run.c'))).toEqual(['run.cancelled'])
  expect(await request('POST', `/v1/runs/${id}/cancel`)).toMatchObject({ status: 200, body: { status: 'cancelling' } })
  expect((await request('GET', `/v1/runs/${id}`)).body.status).toBe('cancelled')
  expect(await request('GET', `/v1/runs/${id}/summary`)).toMatchObject({
    status: 409,
    body: { error: { code: 'run_not_finished' } },
  })
})

test('with a cap of one, a second run is queued, says so, and runs when the first has ended', async () => {
  const {
    start: begin,
    request,
    events,
    until,
  } = await start({
    turns: [{ content: 'slow', delay_ms: 300 }, { content: 'quick' }],
    settings: { max_concurrent_runs: 1 },
  })
  const first = await begin('one')
  await until(first, 'llm.turn.requested')
  const second = await begin('two')
  expect((await request('GET', `/v1/runs/${second}`)).body.status).toBe('queued')
  const [one, two] = await Promise.all([events(first), events(second)])
  expect(types(two).slice(0, 3)).toEqual(['run.started', 'run.queued', 'provider.resolved'])
  expect([one, two].map(each => each.at(-1)?.type)).toEqual(['run.completed', 'run.completed'])
})

test('a queued run can be cancelled without ever starting', async () => {
  const {
    start: begin,
    request,
    events,
    until,
  } = await start({
    turns: [{ content: 'slow', delay_ms: 600_000 }],
    settings: { max_concurrent_runs: 1 },
  })
  const first = await begin('one')
  await until(first, 'llm.turn.requested')
  const second = await begin('two')
  await request('POST', `/v1/runs/${second}/cancel`)
  expect(types(await events(second))).toEqual(['run.started', 'run.queued', 'run.cancelled'])
  await request('POST', `/v1/runs/${first}/cancel`)
})

test('a repeated id of a mutating call is not executed again', async () => {
  const call = { id: 'same', name: 'write', arguments: JSON.stringify({ path: 'log', content: 'x', append: true }) }
  const { run, workspace } = await start({
    turns: [{ content: '', tool_calls: [call] }, { content: '', tool_calls: [call] }, { content: 'ok' }],
  })
  const events = await run('go')
  expect(await readFile(join(workspace, 'log'), 'utf8')).toBe('x')
  expect(events.filter(({ type }) => type === 'tool.call.completed').map(({ payload }) => payload?.error)).toEqual([
    undefined,
    expect.stringContaining('duplicate_call_id'),
  ])
})

test('denied and unlisted tools are neither offered nor run', async () => {
  const { run, workspace } = await start({
    turns: [turn(['write', { path: 'x', content: 'x' }], ['ls', {}]), { content: 'ok' }],
  })
  const events = await run({ prompt: 'go', allowed_tools: ['write'], denied_tools: ['write'] })
  const blocked = events.filter(({ type }) => type === 'tool.call.blocked').map(({ payload }) => payload?.reason)
  expect(blocked).toEqual(['tool_denied_for_run', 'tool_not_in_allowed_tools'])
  await expect(readFile(join(workspace, 'x'))).rejects.toThrow()
})

test('the same Idempotency-Key starts one run; another body under it is refused', async () => {
  const { request } = await start({ turns: [{ content: 'a' }] })
  const post = (body: object) => request('POST', '/v1/runs', body, { 'idempotency-key': 'k1' })
  const [first, second] = [await post({ prompt: 'a', model: 'm' }), await post({ model: 'm', prompt: 'a' })]
  expect(second.body.run_id).toBe(first.body.run_id)
  expect([first, second].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
  expect(await post({ prompt: 'b' })).toMatchObject({ status: 409, body: { error: { code: 'idempotency_conflict' } } })
})

test.each([
  [{}, 'prompt'],
  [{ prompt: '' }, 'prompt'],
  [{ prompt: 5 }, 'prompt'],
  [{ prompt: 'x', max_steps: -1 }, 'max_steps'],
  [{ prompt: 'x', max_turns: 1.5 }, 'max_turns'],
  [{ prompt: 'x', max_cost_usd: -0.1 }, 'max_cost_usd'],
  [{ prompt: 'x', permissions: { network: 'maybe' } }, 'permissions.network'],
  [{ prompt: 'x', permissions: { sandbox: 'none' } }, 'permissions.sandbox'],
  [{ prompt: 'x', workspace_type: 'moon' }, 'workspace_type'],
  [{ prompt: 'x', workspace_path: 'relative' }, 'workspace_path'],
  [{ prompt: 'x', extra_dirs: ['/does/not/exist'] }, 'extra_dirs[0]'],
  [{ prompt: 'x', attachments: [{ type: 'video' }] }, 'attachments'],
])('a bad request %j is refused by the name of its field', async (body, field) => {
  const { request } = await start()
  const reply = await request('POST', '/v1/runs', body)
  expect(reply).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request', message: expect.stringContaining(field) } },
  })
})

test('a wish that no plugin gives effect to is refused, not dropped', async () => {
  const { request } = await start()
  const reply = await request('POST', '/v1/runs', { prompt: 'x', mcp_servers: [{ name: 'm', command: 'x' }] })
  expect(reply).toMatchObject({
    status: 501,
    body: { error: { code: 'not_implemented', message: expect.stringContaining('mcp_servers') } },
  })
})
