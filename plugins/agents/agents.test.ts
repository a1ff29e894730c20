import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { RUNS } from '#contracts/ports'
import type { Skills } from '#contracts/skills'
import { type Booted, boot } from '#test/kit/boot'
import { describePlugin } from '#test/kit/describe-plugin'
import { taskOf } from './agent-task.js'
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

describe('a skill', () => {
  const skills: Skills = {
    text: async (tenantId, name, { args }) =>
      name === 'nope' || tenantId !== 't'
        ? undefined
        : { text: `${name} on ${args}`, ...(name === 'held' && { allowedTools: ['read', 'grep'] }) },
  }
  test.each([
    [
      { skill: ' tidy ', skill_args: 'a b' },
      { prompt: 'tidy on a b', allowedTools: [] },
    ],
    [
      { skill: 'tidy', allowed_tools: ['bash'] },
      { prompt: 'tidy on ', allowedTools: ['bash'] },
    ],
    [{ skill: 'held' }, { prompt: 'held on ', allowedTools: ['read', 'grep'] }],
    [
      { skill: 'held', allowed_tools: ['grep', 'bash'] },
      { prompt: 'held on ', allowedTools: ['grep'] },
    ],
  ])('%j becomes the task %j', async (wish, task) => {
    expect(await taskOf(wish, 't', skills)).toEqual(task)
  })

  test('that nobody has is 404, also for another tenant; one that may use nothing that is asked for is refused', async () => {
    for (const [name, tenant] of [
      ['nope', 't'],
      ['tidy', 'other'],
    ] as const)
      await expect(taskOf({ skill: name }, tenant, skills)).rejects.toMatchObject({
        code: 'skill_not_found',
        message: `skill: there is no skill "${name}"`,
      })
    await expect(taskOf({ skill: 'held', allowed_tools: ['bash'] }, 't', skills)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'allowed_tools: the skill may use read, grep only',
    })
  })
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
    [{ skill: 'x', skill_args: 'y' }, 501, 'not_implemented', 'skill: skills are not configured here'],
    [{ skill: 3 }, 400, 'invalid_request', 'skill must be a string'],
    [{ skill: 'x', skill_args: [] }, 400, 'invalid_request', 'skill_args must be a string'],
    [{ prompt: 'go', allowed_tools: ['read', 3] }, 400, 'invalid_request', 'allowed_tools[1] must be a string'],
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

  test('a skill runs as the text that a plugin gives for it', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'runwright-agents-'))
    await mkdir(join(dir, 'more', 'some-skills'), { recursive: true })
    await writeFile(join(dir, 'more', 'some-skills', 'index.js'), SKILLS)
    booted = await boot({ settings: { plugin_dirs: [join(dir, 'more')] } })
    const reply = await booted.request('POST', '/v1/agents', { skill: 'tidy', skill_args: 'src' })
    expect([reply.status, reply.body.output]).toEqual([200, 'done'])
    const run = await booted.request('GET', reply.headers.get('content-location') ?? '')
    expect(run.body.prompt).toBe('tidy src')
    const unknown = await booted.request('POST', '/v1/agents', { skill: 'nope' })
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'skill_not_found'])
    await rm(dir, { recursive: true, force: true })
  })

  test('a daemon that stops answers 503 at once, and the run goes on when it is back', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'runwright-agents-'))
    booted = await boot({ dir, isDurable: true, turns: [{ content: 'a b', hang: true }] })
    const asking = booted.request('POST', '/v1/agents', { prompt: 'go' })
    await expect.poll(async () => (await booted.request('GET', '/v1/runs')).body.runs[0]?.status).toBe('running')
    const stopping = booted.stop()
    const reply = await asking
    expect([reply.status, reply.body.error.code, reply.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      expect.any(String),
    ])
    const id = /run_[0-9a-f-]+/.exec(reply.body.error.message)?.[0] ?? ''
    await stopping
    booted = await boot({ dir, isDurable: true, turns: [{ content: 'there' }] })
    expect((await booted.events(id)).at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'there' } })
    await booted.stop()
    await rm(dir, { recursive: true, force: true })
    booted = await boot()
  }, 30_000)

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

const SKILLS = `
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { SKILLS } from '#contracts/ports'
export const plugin = definePlugin({
  name: 'some-skills',
  config: Type.Object({}),
  provides: [SKILLS],
  register(scope) {
    scope.provide(SKILLS, { text: async (_, name, { args }) => (name === 'tidy' ? { text: name + ' ' + args } : undefined) })
  },
})
`
