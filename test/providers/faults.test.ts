import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { EventEnvelope } from '#test/kit/boot'
import { type ChatTurn, startScriptedServer } from '#test/kit/chat-server'
import type { ScriptedWire } from '#test/kit/chat-wire'
import type { ModelServer } from '#test/kit/model-server'
import { bootWith, CHAT, MESSAGES, RESPONSES, WIRES, type WireCase } from './wires.js'

const undos: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

interface Played {
  readonly events: readonly EventEnvelope[]
  readonly end: EventEnvelope | undefined
  readonly servers: readonly ModelServer[]
  /** Everything that was shown as text, in order. */
  readonly shown: string
  of(type: string): readonly Readonly<Record<string, unknown>>[]
}

/** Plays one run against providers with these scripts; the first is the one it asks for. */
async function play(
  scripts: readonly (readonly [WireCase, readonly ChatTurn[]])[],
  request: Readonly<Record<string, unknown>> = {},
): Promise<Played> {
  const dir = await mkdtemp(join(tmpdir(), 'runwright-faults-'))
  undos.push(() => rm(dir, { recursive: true, force: true }))
  const servers = await Promise.all(scripts.map(([wire, turns]) => startScriptedServer(wire.scripted, { turns })))
  for (const server of servers) undos.push(() => server.close())
  const pairs = scripts.map(([wire], index) => [wire, servers[index] as ModelServer] as const)
  const live = await bootWith(pairs, { dir, settings: { retry_max_attempts: 2 } })
  undos.push(live.stop)
  const events = await live.run({ prompt: 'Go.', model: scripts[0]?.[0].model, ...request })
  const of = (type: string) => events.filter(event => event.type === type).map(({ payload }) => payload ?? {})
  return {
    events,
    end: events.at(-1),
    servers,
    of,
    shown: of('assistant.message.delta')
      .map(({ content }) => content)
      .join(''),
  }
}

const refuse = (status: number, errorMessage?: string, headers: ChatTurn['headers'] = {}): ChatTurn => ({
  status,
  headers,
  ...(errorMessage !== undefined && { errorMessage }),
})

const FALLBACK = { allow_fallback: true }
const WRITE = { name: 'write', arguments: { path: 'once.txt', content: 'once' } }

describe.each(WIRES.map(wire => [wire.name, wire] as const))('%s', (_, wire) => {
  test('429 with Retry-After is waited for, and the answer comes once', async () => {
    const { end, shown, servers } = await play([
      [wire, [refuse(429, 'slow down', { 'retry-after': '0' }), { text: 'Hi.' }]],
    ])
    expect(end).toMatchObject({ type: 'run.completed', payload: { output: 'Hi.' } })
    expect([shown, servers[0]?.calls.length]).toEqual(['Hi.', 2])
  })

  test('500 again and again fails the run after its attempts, in the words of the provider', async () => {
    const { end, servers } = await play([[wire, [refuse(500, 'on fire'), refuse(500, 'on fire')]]])
    expect(end).toMatchObject({
      type: 'run.failed',
      payload: { error: expect.stringMatching(/^provider completion failed: .*on fire/) },
    })
    expect(servers[0]?.calls).toHaveLength(2)
  })

  test('a connection reset before anything was shown is tried again', async () => {
    const { end, servers } = await play([[wire, [{ breakAfterChunks: 0 }, { text: 'Hi.' }]]])
    expect([end?.type, servers[0]?.calls.length]).toEqual(['run.completed', 2])
  })

  test('a connection reset within an answer fails the run; nothing of it is said twice', async () => {
    const half = { chunks: ['Half ', 'of a ', 'sentence'], breakAfterChunks: 3 }
    const { end, shown, servers } = await play([[wire, [half, { text: 'Never.' }]]], FALLBACK)
    expect(end).toMatchObject({
      type: 'run.failed',
      payload: { error: expect.stringContaining('provider completion failed') },
    })
    expect(shown.length).toBeGreaterThan(0)
    expect('Half of a sentence'.startsWith(shown)).toBe(true)
    expect(servers[0]?.calls).toHaveLength(1)
  })

  test('a stream that falls silent is given up as stalled', async () => {
    const silent = { chunks: ['Half ', 'of it'], hang: true }
    const { end, servers } = await play([[wire, [silent]]])
    expect(end).toMatchObject({
      type: 'run.failed',
      payload: { error: expect.stringMatching(/stall|silent|without a byte/i) },
    })
    expect(servers[0]?.calls).toHaveLength(1)
    expect(await servers[0]?.calls[0]?.closed).toBe(true)
  })

  test('a garbled chunk fails the run rather than being read over', async () => {
    const frames: ScriptedWire['frames'] = turn => [wire.scripted.frames(turn)[0] ?? '', wire.scripted.malformedFrame]
    const { end, shown } = await play([[{ ...wire, scripted: { ...wire.scripted, frames } }, [{ text: 'Hi.' }]]])
    expect([end?.type, shown]).toEqual(['run.failed', ''])
  })

  test('an empty answer is asked for again, and three in a row fail the run', async () => {
    const { end, of } = await play([[wire, [{}, {}, {}, { text: 'Never.' }]]])
    expect(of('llm.empty_response.retry').length).toBeGreaterThan(0)
    expect(end).toMatchObject({ type: 'run.failed', payload: { error: expect.stringMatching(/^max_empty_responses/) } })
    const again = await play([[wire, [{}, { text: 'Hi.' }]]])
    expect(again.end).toMatchObject({ type: 'run.completed', payload: { output: 'Hi.' } })
  })

  test.each([
    [401, 'bad key'],
    [403, 'not you'],
    [404, 'no such model'],
    [400, 'This model’s maximum context length is 8 tokens'],
  ])('%i is told at once and by nobody else', async (status, message) => {
    const { end, servers } = await play([[wire, [refuse(status, message), { text: 'Never.' }]]], FALLBACK)
    expect(end).toMatchObject({ type: 'run.failed', payload: { error: expect.stringContaining(message) } })
    expect(servers[0]?.calls).toHaveLength(1)
    expect(JSON.stringify(end)).not.toContain('sk-')
  })

  test('a tool call that never ended is not executed', async () => {
    const turn = { toolCalls: [WRITE] }
    const cut = { ...turn, breakAfterChunks: wire.scripted.frames(turn).length - 1 }
    const { end, of } = await play([[wire, [cut]]])
    expect([end?.type, of('tool.call.started').length]).toEqual(['run.failed', 0])
  })
})

describe('fallback in the middle of a run', () => {
  const PAIRS: readonly (readonly [WireCase, WireCase])[] = [
    [CHAT, MESSAGES],
    [MESSAGES, CHAT],
    [RESPONSES, MESSAGES],
  ]

  test.each(PAIRS.map(([from, to]) => [from.name, to.name, from, to] as const))(
    'from %s to %s: what was done stays done, and the next provider goes on from there',
    async (_from, _to, from, to) => {
      const { end, of, servers, shown } = await play(
        [
          [from, [{ text: 'First. ', toolCalls: [{ id: 'call_1', ...WRITE }] }, refuse(503), refuse(503)]],
          [
            to,
            [
              { text: 'Second. ', toolCalls: [{ id: 'call_1', name: 'read', arguments: { path: 'once.txt' } }] },
              { text: 'Done.' },
            ],
          ],
        ],
        { ...FALLBACK, fallback_providers: [to.provider] },
      )
      expect(end).toMatchObject({ type: 'run.completed', payload: { output: 'Done.' } })
      expect(shown).toBe('First. Second. Done.')
      expect(servers.map(({ calls }) => calls.length)).toEqual([3, 2])
      expect(of('prompt.warning')).toMatchObject([
        { code: 'provider_fallback', from_provider: from.provider, to_provider: to.provider, step: 2 },
      ])
      const completed = of('tool.call.completed')
      expect(completed.map(({ tool, error }) => [tool, error])).toEqual([
        ['write', undefined],
        ['read', undefined],
      ])
      // The second provider gave its call an id that the run had seen already.
      expect(new Set(completed.map(({ call_id }) => call_id)).size).toBe(2)
      expect(servers[1]?.calls[0]?.bodyText).toContain('once.txt')
    },
  )
})
