import { afterEach, describe, expect, test } from 'vitest'
import { RUNS } from '#contracts/ports'
import { type Booted, boot } from '#test/kit/boot'
import { describePlugin } from '#test/kit/describe-plugin'
import { timeoutOf } from './await-run.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: [[RUNS, {}]] })

test.each([
  [undefined, 120],
  [0, 120],
  [-5, 120],
  [0.5, 0.5],
  [600, 600],
  [601, 600],
  [1e9, 600],
])('%s seconds mean %s', (asked, given) => {
  expect(timeoutOf(asked)).toBe(given)
})

describe('over HTTP', () => {
  let booted: Booted
  afterEach(() => booted.stop())
  const statusOf = async (id: string) => (await booted.request('GET', `/v1/runs/${id}`)).body.status

  test('an agent answers with what its run said', async () => {
    booted = await boot({ turns: [{ content: 'forty-two', delay_ms: 30 }] })
    const reply = await booted.request('POST', '/v1/agents', { prompt: 'go', allowed_tools: ['read'] })
    expect([reply.status, reply.body]).toEqual([
      200,
      { output: 'forty-two', summary: '', duration_ms: expect.any(Number) },
    ])
    expect(reply.body.duration_ms).toBeGreaterThanOrEqual(25)
    const run = await booted.request('GET', reply.headers.get('content-location') ?? '')
    expect(run.body).toMatchObject({ status: 'completed', output: 'forty-two' })
  })

  test.each([
    [{}, 400, 'invalid_request', 'one of them must be given'],
    [{ prompt: ' ' }, 400, 'invalid_request', 'one of them must be given'],
    [{ prompt: 'go', skill: 'x' }, 400, 'invalid_request', 'not both'],
    [{ skill: 'x', skill_args: 'y' }, 501, 'not_implemented', 'skills are not configured'],
    [{ prompt: 3 }, 400, 'invalid_request', 'prompt'],
    [{ prompt: 'go', allowed_tools: 'read' }, 400, 'invalid_request', 'allowed_tools'],
    [{ prompt: 'go', timeout_seconds: 'long' }, 400, 'invalid_request', 'timeout_seconds'],
  ])('%j is answered %i', async (body, status, code, message) => {
    booted = await boot()
    const reply = await booted.request('POST', '/v1/agents', body)
    expect([reply.status, reply.body.error.code]).toEqual([status, code])
    expect(reply.body.error.message).toContain(message)
  })

  test('an agent whose time is over gets 408 and its run is cancelled', async () => {
    booted = await boot({ turns: [{ hang: true }] })
    const reply = await booted.request('POST', '/v1/agents', { prompt: 'go', timeout_seconds: 0.2 })
    expect([reply.status, reply.body.error.code]).toEqual([408, 'timeout'])
    const id = /run_[0-9a-f-]+/.exec(reply.body.error.message)?.[0] ?? ''
    expect((await booted.events(id)).at(-1)?.type).toBe('run.cancelled')
  })

  test('a run that fails is an execution error with its sentence', async () => {
    booted = await boot({ turns: [{ error: 'the model is on fire' }] })
    const reply = await booted.request('POST', '/v1/agents', { prompt: 'go' })
    expect([reply.status, reply.body.error.code]).toEqual([500, 'execution_error'])
    expect(reply.body.error.message).toContain('the model is on fire')
  })

  test('a client that hangs up cancels the run', async () => {
    booted = await boot({ turns: [{ hang: true }], isDurable: true })
    const hangUp = new AbortController()
    const asking = fetch(`${booted.url}/v1/agents`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'go' }),
      signal: hangUp.signal,
    }).catch(() => undefined)
    const id = await expect
      .poll(async () => (await booted.request('GET', '/v1/runs')).body.runs[0]?.id)
      .toBeDefined()
      .then(async () => (await booted.request('GET', '/v1/runs')).body.runs[0].id as string)
    hangUp.abort()
    await asking
    expect((await booted.events(id)).at(-1)?.type).toBe('run.cancelled')
    expect(await statusOf(id)).toBe('cancelled')
  })

  test('an agent that asks is told that nobody is there', async () => {
    const options = [
      { label: 'a', description: 'a' },
      { label: 'b', description: 'b' },
    ]
    const args = { questions: [{ question: 'q?', header: 'q', options }] }
    booted = await boot({
      turns: [{ tool_calls: [{ id: 'c', name: 'AskUserQuestion', arguments: args }] }, { content: 'took a' }],
    })
    const reply = await booted.request('POST', '/v1/agents', { prompt: 'go' })
    expect([reply.status, reply.body.output]).toEqual([200, 'took a'])
  })
})
