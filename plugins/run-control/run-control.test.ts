import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RUNS } from '#contracts/ports'
import type { RunRecord } from '#contracts/run/run'
import { type Booted, boot, type EventEnvelope } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'
import { describePlugin } from '#test/kit/describe-plugin'
import { continuationOf, replayOf } from './continuation.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: [[RUNS, {}]] })

const SOURCE = {
  id: 'run_1',
  model: 'big',
  conversation_id: 'talk',
  tenant_label: 'acme',
  request: {
    prompt: 'go',
    agent_id: 'me',
    system_prompt: 'be short',
    max_cost_usd: 2,
    max_steps: 3,
    max_turns: 4,
    plan_mode: true,
    profile: 'p',
    permissions: { sandbox: 'local', network: 'deny', approval: 'all' },
    rules: [{ pattern: 'bash', effect: 'deny' }],
    role_models: { summarizer: 'small' },
    allowed_tools: ['read', 'ls'],
    denied_tools: ['bash'],
    workspace_type: 'container',
    provider_name: 'here',
  },
} as unknown as RunRecord

test('a continuation has what the run before it had, but for its limits of steps and turns', () => {
  const { max_steps, max_turns, plan_mode, ...kept } = SOURCE.request
  expect(continuationOf(SOURCE, { prompt: 'on' })).toEqual({
    ...kept,
    prompt: 'on',
    model: 'big',
    conversation_id: 'talk',
    tenant_id: 'acme',
  })
})

test('what a continuation is given replaces what it would inherit, and loosens nothing else', () => {
  const wish = { prompt: 'on', allowed_tools: ['grep'], permissions: { approval: 'none' } as const }
  expect(continuationOf(SOURCE, wish)).toMatchObject({
    allowed_tools: ['grep'],
    denied_tools: ['bash'],
    permissions: { sandbox: 'local', network: 'deny', approval: 'none' },
    rules: [{ pattern: 'bash', effect: 'deny' }],
  })
  expect(continuationOf(SOURCE, { prompt: 'on', allowed_tools: [], permissions: {} })).toMatchObject({
    allowed_tools: ['read', 'ls'],
    permissions: SOURCE.request.permissions,
  })
})

test('values that say nothing leave what is inherited: no client loosens a run by sending every field', () => {
  const source = {
    ...SOURCE,
    request: {
      ...SOURCE.request,
      permissions: { approval: 'all', network: 'deny', rules: [{ pattern: 'bash', effect: 'deny' }] },
    },
  } as unknown as RunRecord
  const permissions = { sandbox: '', approval: '', network: '', rules: [] } as const
  expect(continuationOf(source, { prompt: 'on', permissions: { ...permissions, rules: [] } }).permissions).toEqual(
    source.request.permissions,
  )
})

test('a replay has everything the run was started with', () => {
  expect(replayOf(SOURCE)).toEqual({ ...SOURCE.request, model: 'big', conversation_id: 'talk', tenant_id: 'acme' })
})

interface Asked {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

describe('over HTTP', () => {
  let booted: Booted
  let model: ChatServer
  let asked: Asked[]
  let respond: (request: Asked) => ChatTurn
  beforeEach(async () => {
    asked = []
    respond = ({ messages }) => ({ text: `re: ${messages.findLast(({ role }) => role === 'user')?.content}` })
    model = await startChatServer({
      respond: ({ body }) => {
        const request = body as unknown as Asked
        // What stands behind the transcript for one turn only is not what these tests are about.
        const messages = request.messages.filter(
          ({ content }) => !/^(?:<runtime_context>|Permissions of)/.test(content),
        )
        asked.push({ ...request, messages })
        return respond(request)
      },
    })
    booted = await boot({ modelUrl: model.baseUrl })
  })
  afterEach(async () => {
    await booted.stop()
    await model.close()
  })
  const finished = async (request: object = {}): Promise<string> =>
    (await booted.run({ prompt: 'one', ...request }))[0]!.run_id
  const post = (path: string, body?: unknown) => booted.request('POST', `/v1/runs/${path}`, body)
  const started = (events: readonly EventEnvelope[]) => events.find(({ type }) => type === 'run.started')?.payload

  test('a completed run is continued in its conversation, with its model, agent, prompt and tools', async () => {
    const id = await finished({
      conversation_id: 'talk',
      model: 'gpt-4.1',
      agent_id: 'me',
      allowed_tools: ['ls'],
    })
    const reply = await post(`${id}/continue`, { prompt: 'two' })
    const next = reply.body.run_id
    expect([reply.status, reply.body]).toEqual([202, { run_id: next, status: 'queued', conversation_id: 'talk' }])
    expect(reply.headers.get('content-location')).toBe(`/v1/runs/${next}`)
    const events = await booted.events(next)
    expect(started(events)).toMatchObject({ prompt: 'two', previous_run_id: id })
    expect((await booted.request('GET', `/v1/runs/${next}`)).body).toMatchObject({
      model: 'gpt-4.1',
      agent_id: 'me',
      conversation_id: 'talk',
      output: 're: two',
    })
    const seen = asked.at(-1)
    expect(seen?.messages.slice(1)).toMatchObject([{ content: 'one' }, { content: 're: one' }, { content: 'two' }])
    expect(
      seen?.tools?.map(tool => tool.function.name).filter(name => !['AskUserQuestion', 'find_tool'].includes(name)),
    ).toEqual(['ls'])
    expect((await post(`${next}/continue`, { prompt: 'three' })).status).toBe(202)
  })

  test('other tools or permissions are told to the model, behind the prompt', async () => {
    const id = await finished({ conversation_id: 'talk', allowed_tools: ['ls'] })
    const reply = await post(`${id}/continue`, {
      prompt: 'two',
      allowed_tools: ['ls', 'read'],
      permissions: { network: 'deny' },
    })
    await booted.events(reply.body.run_id)
    const said = asked.at(-1)?.messages.slice(1) ?? []
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'system'])
    expect(said[3]?.content).toContain('Tools you may use: ls, read.')
    expect(said[3]?.content).toContain('network: deny (was allow).')
    const again = await post(`${reply.body.run_id}/continue`, { prompt: 'three' })
    await booted.events(again.body.run_id)
    expect(asked.at(-1)?.messages.filter(({ role }) => role === 'system')).toHaveLength(2)
  })

  test('of parallel continuations one wins, and the others learn which', async () => {
    const id = await finished()
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => post(`${id}/continue`, { prompt: `p${n}` })))
    const won = replies.filter(({ status }) => status === 202)
    expect(won).toHaveLength(1)
    for (const { status, body } of replies.filter(reply => reply !== won[0]))
      expect([status, body.error]).toEqual([
        400,
        {
          code: 'invalid_request',
          message: expect.stringContaining(`already continued, by run ${won[0]?.body.run_id}`),
        },
      ])
  })

  test('a continuation that is refused leaves the run open for another', async () => {
    const id = await finished()
    expect((await post(`${id}/continue`, { prompt: 'x', permissions: { sandbox: 'moon' } })).status).toBe(400)
    expect((await post(`${id}/continue`, { prompt: 'x' })).status).toBe(202)
  })

  test.each([
    [{}, 'prompt'],
    [{ prompt: ' ' }, 'prompt: must say something'],
    [{ prompt: 3 }, 'prompt'],
    [{ prompt: 'x', allowed_tools: 'ls' }, 'allowed_tools'],
    [{ prompt: 'x', allowed_tools: [3] }, 'allowed_tools'],
    [{ prompt: 'x', permissions: 'all' }, 'permissions'],
    [{ prompt: 'x', permissions: { network: 'maybe' } }, 'network'],
  ])('%j is refused, naming %s', async (body, named) => {
    const reply = await post(`${await finished()}/continue`, body)
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_request'])
    expect(reply.body.error.message).toContain(named)
  })

  test('only a completed run can be continued or replayed', async () => {
    respond = () => ({ text: 'never seen', hang: true })
    const id = await booted.start('go')
    await booted.until(id, 'llm.turn.requested')
    const running = [await post(`${id}/continue`, { prompt: 'x' }), await post(`${id}/replay`)]
    await post(`${id}/cancel`)
    await booted.events(id)
    respond = () => ({ status: 401, errorMessage: 'no' })
    const failed = await finished()
    const replies = [
      ...running,
      await post(`${id}/continue`, { prompt: 'x' }),
      await post(`${id}/replay`),
      await post(`${failed}/continue`, { prompt: 'x' }),
      await post(`${failed}/replay`),
    ]
    expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual(
      Array.from({ length: 6 }, () => [409, 'run_not_completed']),
    )
    expect(replies[2]?.body.error.message).toContain('is cancelled')
    expect((await post('run_x/continue', { prompt: 'x' })).body.error.code).toBe('not_found')
    expect((await post('run_x/replay')).body.error.code).toBe('not_found')
  })

  test('a replay does the same once more, in the same conversation, as often as it is asked', async () => {
    const id = await finished({ conversation_id: 'talk', agent_id: 'me' })
    const [first, second] = [await post(`${id}/replay`), await post(`${id}/replay`)]
    expect([first.status, first.body]).toEqual([
      202,
      { run_id: expect.stringMatching(/^run_/), status: 'queued', replayed_from: id, conversation_id: 'talk' },
    ])
    expect(second.status).toBe(202)
    await booted.events(first.body.run_id)
    expect((await booted.request('GET', `/v1/runs/${first.body.run_id}`)).body).toMatchObject({
      prompt: 'one',
      agent_id: 'me',
      status: 'completed',
    })
  })

  test('a run that works inside a tool is cancelled there', async () => {
    respond = () => ({ toolCalls: [{ id: 'c', name: 'bash', arguments: { command: 'sleep 60' } }] })
    const id = await booted.start({ prompt: 'go', permissions: { sandbox: 'unrestricted' } })
    await booted.until(id, 'tool.call.started')
    const startedAt = performance.now()
    expect((await post(`${id}/cancel`)).body).toEqual({ status: 'cancelling' })
    expect((await booted.events(id)).at(-1)?.type).toBe('run.cancelled')
    expect(performance.now() - startedAt).toBeLessThan(30_000)
    expect((await post(`${id}/cancel`)).body).toEqual({ status: 'cancelling' })
  })
})

test('a continuation is known as one after a restart, and what it says stays unrepeatable', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'runwright-control-'))
  const first = await boot({ dir, isDurable: true })
  const id = (await first.run('one'))[0]!.run_id
  const next = (await first.request('POST', `/v1/runs/${id}/continue`, { prompt: 'two' })).body.run_id
  await first.events(next)
  await first.stop()
  const second = await boot({ dir, isDurable: true })
  const again = await second.request('POST', `/v1/runs/${id}/continue`, { prompt: 'two' })
  expect([again.status, again.body.error.message]).toEqual([400, expect.stringContaining(next)])
  expect((await second.request('POST', `/v1/runs/${id}/replay`)).status).toBe(202)
  await second.stop()
  await rm(dir, { recursive: true, force: true })
})
