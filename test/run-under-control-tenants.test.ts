import { afterEach, expect, test } from 'vitest'
import { type AuthBench, bootWithAuth } from './auth/auth-bench.js'

let bench: AuthBench
afterEach(() => bench.stop())

test('whatever can be done to a run, another tenant’s run is one that never was', async () => {
  const options = ['a', 'b'].map(label => ({ label, description: label }))
  const questions = [{ question: 'q?', header: 'q', options }]
  bench = await bootWithAuth({
    turns: [{ tool_calls: [{ id: 'c', name: 'AskUserQuestion', arguments: { questions } }] }, { content: 'done' }],
  })
  const key = await bench.addKey({ tenant_id: 'acme' })
  const owner = bench.as(key)
  const stranger = bench.as(await bench.addKey({ tenant_id: 'other' }))
  const reader = bench.as(await bench.addKey({ tenant_id: 'acme', scopes: ['runs:read'] }))
  const id = await owner.start('go')
  await owner.until(id, 'run.waiting_for_user')
  const reads = ['input', 'todos'].map(path => ['GET', path, undefined] as const)
  const writes = [
    ['POST', 'input', { answers: { 'q?': 'a' } }],
    ['PUT', 'todos', { todos: [] }],
    ['POST', 'steer', { prompt: 'x' }],
    ['POST', 'continue', { prompt: 'x' }],
    ['POST', 'replay', undefined],
    ['POST', 'cancel', undefined],
  ] as const
  for (const [method, path, body] of [...reads, ...writes]) {
    const theirs = await stranger.request(method, `/v1/runs/${id}/${path}`, body)
    const nobodys = await stranger.request(method, `/v1/runs/run_x/${path}`, body)
    expect([path, theirs.status, JSON.stringify(theirs.body).replaceAll(id, 'run_x')]).toEqual([
      path,
      404,
      JSON.stringify(nobodys.body),
    ])
  }
  for (const [method, path, body] of writes)
    expect((await reader.request(method, `/v1/runs/${id}/${path}`, body)).body).toEqual({
      error: 'insufficient_scope',
      required: 'runs:write',
    })
  expect((await reader.request('POST', '/v1/agents', { prompt: 'x' })).status).toBe(403)
  expect((await reader.request('GET', `/v1/runs/${id}/input`)).status).toBe(200)
  expect((await owner.request('POST', `/v1/runs/${id}/input`, { answers: { 'q?': 'a' } })).status).toBe(202)
  const events = await owner.events(id)
  expect(events.at(-1)?.payload?.output).toBe('done')
  expect(key.startsWith(events.find(({ type }) => type === 'run.resumed')?.payload?.answered_by)).toBe(true)
})
