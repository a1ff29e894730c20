import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'
import { describePlugin } from '#test/kit/describe-plugin'
import type { ModelCall } from '#test/kit/model-server'
import { standInPorts } from '#test/kit/stand-in-ports'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

/** A tool that waits for somebody, and a route that answers it. */
const PARK = `
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { RUNS } from '#contracts/ports'
export const plugin = definePlugin({
  name: 'park',
  config: Type.Object({}),
  needs: [RUNS],
  register(scope) {
    scope.tool({
      name: 'park', description: 'Waits for an answer.', parameters: Type.Object({}), action: 'read',
      async execute(_args, { run, callId }) {
        const announce = () => run.emit('run.waiting_for_user', { call_id: callId, tool: 'park', questions: [], deadline_at: '' })
        await run.wait({ status: 'waiting_for_user', kind: 'answer', announce })
        return { output: 'answered' }
      },
    })
    scope.routes(async app => {
      app.post('/v1/park/:id', { config: { scope: 'runs:write' } }, async request =>
        scope.use(RUNS).send(request.identity.tenantId, request.params.id, { kind: 'answer' }))
    })
  },
})
`

interface WireMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly { readonly id: string }[]
  readonly tool_call_id?: string
}

let server: ChatServer
let daemon: Booted
/** Answers turns of the run; `turn` counts them. */
let answer: (turn: number) => ChatTurn
let summarise: () => ChatTurn
beforeEach(async () => {
  let turn = 0
  summarise = () => ({ text: 'in short: it went well' })
  server = await startChatServer({
    respond: call => (isSummary(call) ? summarise() : answer(turn++)),
  })
})
afterEach(async () => {
  await daemon?.stop()
  await server.close()
})

const messagesOf = (call: ModelCall | undefined) => (call?.body?.messages ?? []) as readonly WireMessage[]
const isSummary = (call: ModelCall) => messagesOf(call)[0]?.content?.startsWith('You shorten the record') ?? false
const turnCalls = () => server.calls.filter(call => !isSummary(call))
const summaryCalls = () => server.calls.filter(isSummary)
/** What a turn was shown between the system prompt and the messages behind the transcript. */
const transcriptOf = (call: ModelCall | undefined) => {
  const messages = messagesOf(call).slice(1)
  return messages.slice(
    0,
    messages.findLastIndex(({ role, content }) => role !== 'system' || content?.includes('stood here')) + 1,
  )
}
const shapeOf = (call: ModelCall | undefined) =>
  transcriptOf(call)
    .map(({ role }) => role[0])
    .join('')
const ls = (id: string): ChatTurn => ({ toolCalls: [{ id, name: 'ls', arguments: { path: '.' } }] })

const start = async (options: BootOptions = {}) => {
  daemon = await boot({ modelUrl: server.baseUrl, ...options })
}

/** Every call stands before its result, and every result behind its call. */
function expectValid(call: ModelCall | undefined) {
  const open = new Set<string>()
  for (const { role, tool_calls: calls, tool_call_id: id } of messagesOf(call)) {
    if (role !== 'tool') expect([...open]).toEqual([])
    else expect(open.delete(id ?? '')).toBe(true)
    for (const each of calls ?? []) open.add(each.id)
  }
  expect([...open]).toEqual([])
}

describe('by hand', () => {
  test('a run that works is compacted at once, and its next turn is shown the shorter transcript', async () => {
    await start()
    answer = turn => (turn < 6 ? ls(`c${turn}`) : turn === 6 ? { ...ls('late'), delayMs: 700 } : { text: 'done' })
    const id = await daemon.start('go')
    await server.call(6)
    const reply = await daemon.request('POST', `/v1/runs/${id}/compact`, { mode: 'strip', keep_last: 2 })
    expect(reply).toMatchObject({ status: 200, body: { ok: true, messages_removed: 8, mode: 'strip' } })
    expect(reply.body.summary).toContain('8 messages')
    const events = await daemon.events(id)
    expect(events.at(-1)?.type).toBe('run.completed')
    expect(events.find(({ type }) => type === 'compact_history.completed')?.payload).toMatchObject({ message_count: 6 })
    expect(shapeOf(turnCalls()[6])).toBe(`u${'at'.repeat(6)}`)
    expect(shapeOf(turnCalls()[7])).toBe(`su${'at'.repeat(3)}`)
    for (const call of server.calls) expectValid(call)
  })

  test('a run that waits for its user is compacted, keeps its question, and goes on', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'runwright-compaction-'))
    await mkdir(join(dir, 'park'))
    await writeFile(join(dir, 'park', 'index.js'), PARK)
    await start({ settings: { plugin_dirs: [dir] } })
    const park: ChatTurn = { toolCalls: [{ id: 'p', name: 'park', arguments: {} }] }
    answer = turn => (turn < 3 ? ls(`c${turn}`) : turn === 3 ? park : { text: 'done' })
    const id = await daemon.start('go')
    await daemon.until(id, 'run.waiting_for_user')
    const reply = await daemon.request('POST', `/v1/runs/${id}/compact`, { mode: 'summarize', keep_last: 1 })
    expect(reply).toMatchObject({ status: 200, body: { messages_removed: 7 } })
    await daemon.request('POST', `/v1/park/${id}`, {})
    expect((await daemon.events(id)).at(-1)?.type).toBe('run.completed')
    expect(shapeOf(turnCalls()[4])).toBe('sat')
    expectValid(turnCalls()[4])
    await rm(dir, { recursive: true })
  })

  test('a summary is written by the summarizer, with what is to be preserved, and is paid for by the run', async () => {
    await start()
    answer = turn => (turn < 4 ? ls(`c${turn}`) : turn === 4 ? { ...ls('late'), delayMs: 700 } : { text: 'done' })
    const id = await daemon.start({ prompt: 'go', max_turns: 6, role_models: { summarizer: 'small' } })
    await server.call(4)
    const wish = { mode: 'summarize', keep_last: 1, instruction: 'the colour blue' }
    const reply = await daemon.request('POST', `/v1/runs/${id}/compact`, wish)
    expect(reply).toMatchObject({ status: 200, body: { ok: true, messages_removed: 8, mode: 'summarize' } })
    expect(reply.body.summary).toContain('in short: it went well')
    const events = await daemon.events(id)
    // Six turns of the run and one question on the side, 15 tokens each: the question is no turn.
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { usage_totals: { total_tokens: 7 * 15 } } })
    expect(summaryCalls()[0]?.body?.model).toBe('small')
    expect(messagesOf(summaryCalls()[0])[1]?.content).toContain('the colour blue')
    // The last user message is the warning that one turn is left.
    expect(shapeOf(turnCalls()[5])).toBe('satatu')
    expectValid(turnCalls()[5])
  })

  test('a summary that cannot be written changes nothing and says why', async () => {
    await start()
    summarise = () => ({ status: 400, errorMessage: 'no thanks' })
    answer = turn => (turn < 4 ? ls(`c${turn}`) : turn === 4 ? { ...ls('late'), delayMs: 700 } : { text: 'done' })
    const id = await daemon.start('go')
    await server.call(4)
    expect(await daemon.request('POST', `/v1/runs/${id}/compact`, { mode: 'summarize', keep_last: 1 })).toMatchObject({
      status: 502,
      body: { error: { code: 'upstream_error', message: expect.stringContaining('no thanks') } },
    })
    await daemon.events(id)
    expect(shapeOf(turnCalls()[5])).toBe(`u${'at'.repeat(5)}`)
  })

  test('a compacted conversation is stored compacted, and the next run goes on from it', async () => {
    for (const isDurable of [false, true]) {
      await start({ isDurable })
      const first = server.calls.length
      let turn = 0
      answer = () => {
        const now = turn++
        return now < 4 ? ls(`c${now}`) : now === 4 ? { ...ls('late'), delayMs: 700 } : { text: `done ${now}` }
      }
      const id = await daemon.start({ prompt: 'go', conversation_id: 'talk' })
      await server.call(first + 4)
      await daemon.request('POST', `/v1/runs/${id}/compact`, { mode: 'strip', keep_last: 1 })
      await daemon.events(id)
      const events = await daemon.run({ prompt: 'and now', conversation_id: 'talk' })
      expect(shapeOf(turnCalls().at(-1))).toBe(`su${'at'.repeat(2)}au`)
      expect(events.find(({ type }) => type === 'conversation.continued')?.payload).toMatchObject({
        prior_message_count: 7,
      })
      // Once more, on a history that is there already.
      turn = 0
      const again = server.calls.length
      const second = await daemon.start({ prompt: 'third', conversation_id: 'talk' })
      await server.call(again + 4)
      await daemon.request('POST', `/v1/runs/${second}/compact`, { mode: 'strip', keep_last: 1 })
      await daemon.events(second)
      await daemon.run({ prompt: 'fourth', conversation_id: 'talk' })
      expect(transcriptOf(turnCalls().at(-1)).filter(({ role }) => role === 'user')).toHaveLength(4)
      expect(shapeOf(turnCalls().at(-1))).toBe(`suauau${'at'.repeat(2)}au`)
      await daemon.stop()
    }
  })

  test.each([
    [{ mode: 'shred' }, /^mode must/],
    [{ keep_last: -1 }, /^keep_last must/],
    [{ keep_last: 1.5 }, /^keep_last must/],
    [{ keep_last: 'two' }, /^keep_last must/],
    [{ instruction: 7 }, /^instruction must/],
    [{ instruction: 'x'.repeat(16_385) }, /^instruction must/],
  ])('%j is answered 400 with the field', async (body, sentence) => {
    await start()
    expect(await daemon.request('POST', '/v1/runs/run_x/compact', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', message: expect.stringMatching(sentence) } },
    })
  })

  test('an unknown run is 404, one that is over is 409', async () => {
    await start()
    answer = () => ({ text: 'done' })
    const [{ run_id: id } = { run_id: '' }] = await daemon.run('go')
    expect((await daemon.request('POST', '/v1/runs/run_x/compact', {})).status).toBe(404)
    expect(await daemon.request('POST', `/v1/runs/${id}/compact`, {})).toMatchObject({
      status: 409,
      body: { error: { code: 'run_not_active', message: expect.stringContaining('completed') } },
    })
  })
})

test('the context of a run is told while it works and after it ended', async () => {
  await start()
  answer = turn => (turn === 0 ? { ...ls('a'), delayMs: 500 } : { text: 'x'.repeat(150_000) })
  const id = await daemon.start('12345678')
  await server.call(0)
  expect((await daemon.request('GET', `/v1/runs/${id}/context`)).body).toEqual({
    message_count: 1,
    estimated_tokens: 2,
    context_pressure: 'low',
  })
  await daemon.events(id)
  const ended = (await daemon.request('GET', `/v1/runs/${id}/context`)).body
  expect(ended).toMatchObject({ message_count: 4, context_pressure: 'medium' })
  expect(ended.estimated_tokens).toBeGreaterThan(37_500)
  expect((await daemon.request('GET', '/v1/runs/run_x/context')).status).toBe(404)
})

describe('by itself', () => {
  const auto = (more: object = {}) => ({
    'auto_compact.enabled': true,
    'auto_compact.mode': 'hybrid',
    'auto_compact.keep_last': 2,
    'auto_compact.threshold': 0.5,
    'auto_compact.model_context_window': 20_000,
    ...more,
  })
  const write = (id: string): ChatTurn => ({
    toolCalls: [{ id, name: 'write', arguments: { path: `${id}.txt`, content: `${'x'.repeat(79)}\n`.repeat(100) } }],
  })
  const fields = { prompt: 'go', model: 'home-grown' }
  /** A call whose result is too small for hybrid to take out. */
  const note = (turn: number) => ({
    id: `n${turn}`,
    name: 'working_memory',
    arguments: { action: 'get', key: `k${turn}${'k'.repeat(200)}` },
  })

  test('a context that fills the window is compacted before the turn, and every request is valid', async () => {
    await start({ settings: auto() as never })
    answer = turn => (turn < 12 ? write(`w${turn}`) : { text: 'done' })
    const events = await daemon.run(fields)
    expect(events.at(-1)?.type).toBe('run.completed')
    const started = events.filter(({ type }) => type === 'auto_compact.started')
    const completed = events.filter(({ type }) => type === 'auto_compact.completed')
    expect(started.length).toBeGreaterThanOrEqual(1)
    expect(completed).toHaveLength(started.length)
    expect(started[0]?.payload).toMatchObject({ context_window: 20_000, threshold: 0.5, mode: 'hybrid' })
    expect(started[0]?.payload?.ratio).toBeGreaterThan(0.5)
    const first = completed[0]?.payload
    expect(first?.after_tokens).toBeLessThan(first?.before_tokens)
    expect(first?.error).toBeUndefined()
    expect(summaryCalls().length).toBeGreaterThanOrEqual(1)
    for (const call of server.calls) expectValid(call)
  })

  test('a summary that fails falls back to strip and says so', async () => {
    summarise = () => ({ status: 400, errorMessage: 'no thanks' })
    await start({ settings: auto({ 'auto_compact.mode': 'summarize' }) as never })
    answer = turn => (turn < 8 ? write(`w${turn}`) : { text: 'done' })
    const events = await daemon.run(fields)
    expect(events.at(-1)?.type).toBe('run.completed')
    expect(events.find(({ type }) => type === 'auto_compact.completed')?.payload).toMatchObject({
      mode: 'strip',
      error: expect.stringContaining('no thanks'),
    })
    for (const call of server.calls) expectValid(call)
  })

  test('what a mode leaves too long is shortened by a stronger one, so that no run ends at its window', async () => {
    await start({ settings: auto({ 'auto_compact.model_context_window': 12_000 }) as never })
    answer = turn => (turn < 40 ? { text: 'w'.repeat(600), toolCalls: [note(turn)] } : { text: 'done' })
    const events = await daemon.run(fields)
    expect(events.at(-1)?.type).toBe('run.completed')
    const modes = events.filter(({ type }) => type === 'auto_compact.completed').map(({ payload }) => payload?.mode)
    expect(modes).toContain('strip')
    expect(modes).toContain('summarize')
    for (const call of turnCalls()) expect(JSON.stringify(messagesOf(call)).length / 4).toBeLessThan(12_000)
    for (const call of server.calls) expectValid(call)
  })

  test('the window of a model that is known goes before the setting', async () => {
    await start({ settings: auto() as never })
    answer = turn => (turn < 8 ? write(`w${turn}`) : { text: 'done' })
    const events = await daemon.run({ prompt: 'go', model: 'gpt-4.1' })
    expect(events.filter(({ type }) => type.startsWith('auto_compact'))).toEqual([])
  })

  test('switched off, which is the default, nothing is compacted', async () => {
    await start({ settings: auto({ 'auto_compact.enabled': false }) as never })
    answer = turn => (turn < 8 ? write(`w${turn}`) : { text: 'done' })
    const events = await daemon.run(fields)
    expect(events.filter(({ type }) => type.startsWith('auto_compact'))).toEqual([])
  })
})

describe('by the model', () => {
  const find: ChatTurn = {
    toolCalls: [{ id: 'f', name: 'find_tool', arguments: { query: 'select:reset_context' } }],
  }

  test('compact_history shortens what came before its own turn', async () => {
    await start()
    const compact: ChatTurn = {
      toolCalls: [{ id: 'k', name: 'compact_history', arguments: { mode: 'strip', keep_last: 1 } }],
    }
    answer = turn => (turn < 3 ? ls(`c${turn}`) : turn === 3 ? compact : { text: 'done' })
    const events = await daemon.run('go')
    const told = JSON.parse(events.find(({ payload }) => payload?.call_id === 'k' && payload?.output)?.payload?.output)
    expect(told).toMatchObject({ turns_compacted: 4 })
    expect(told.after_tokens).toBeGreaterThan(0)
    expect(events.some(({ type }) => type === 'compact_history.completed')).toBe(true)
    expect(shapeOf(turnCalls()[4])).toBe('suat')
    expectValid(turnCalls()[4])
  })

  test('reset_context leaves what the model kept, and nothing of the turn that asked for it', async () => {
    await start()
    const reset: ChatTurn = {
      toolCalls: [
        { id: 'r', name: 'reset_context', arguments: { persist: { task: 'paint it blue' } } },
        { id: 's', name: 'ls', arguments: { path: '.' } },
      ],
    }
    answer = turn => (turn === 0 ? find : turn === 1 ? reset : turn === 2 ? ls('b') : { text: 'done' })
    const events = await daemon.run({ prompt: 'go', conversation_id: 'talk' })
    expect(events.find(({ type }) => type === 'context.reset')?.payload).toMatchObject({
      reset_index: 0,
      at_step: 2,
      persist: { task: 'paint it blue' },
    })
    expect(shapeOf(turnCalls()[2])).toBe('u')
    expect(transcriptOf(turnCalls()[2])[0]?.content).toContain('paint it blue')
    expect(shapeOf(turnCalls()[3])).toBe('uat')
    await daemon.run({ prompt: 'next', conversation_id: 'talk' })
    expect(shapeOf(turnCalls().at(-1))).toBe('uatau')
  })

  test('a reset that would leave nothing is refused', async () => {
    await start()
    const reset: ChatTurn = { toolCalls: [{ id: 'r', name: 'reset_context', arguments: { persist: {} } }] }
    answer = turn => (turn === 0 ? find : turn === 1 ? reset : { text: 'done' })
    const events = await daemon.run('go')
    const completed = events.filter(({ type }) => type === 'tool.call.completed')
    expect(completed.at(-1)?.payload?.error).toContain('persist')
    expect(shapeOf(turnCalls()[2])).toBe('uatat')
  })
})
