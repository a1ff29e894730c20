import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { afterEach, describe, expect, test } from 'vitest'
import { ProviderEntry } from '#contracts/model/provider'
import { MODEL_WIRES, PROVIDER_ENTRIES } from '#contracts/ports'
import type { ActiveRun } from '#contracts/run/active-run'
import type { RunRequest } from '#contracts/run/request'
import { describePlugin } from '#test/kit/describe-plugin'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { type OpenPlugin, openPlugin } from '#test/kit/open-plugin'
import { FakeClient } from './fake-client.js'
import { plugin } from './index.js'
import type { FakeTurn } from './turn.js'
import { parseTurns, readTurnsFile } from './turns-file.js'

describePlugin(plugin, { dir: import.meta.dirname })

const clientOf = (...turns: FakeTurn[]) => new FakeClient(parseTurns('turns.json', JSON.stringify(turns)), { next: 0 })

describe('the turns', () => {
  test('are served one per call, then nothing is answered, without an error', async () => {
    const client = clientOf(
      { content: 'one', usage: { prompt: 3, completion: 2 }, cost_usd: 0.5, cost_status: 'available' },
      { content: 'two' },
    )
    const turns = [await playTurn(client), await playTurn(client), await playTurn(client)]
    expect(turns.map(turn => turn.outcome)).toEqual([
      {
        kind: 'answered',
        text: 'one',
        toolCalls: [],
        finish: 'stop',
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
        costUsd: 0.5,
        costStatus: 'available',
      },
      { kind: 'answered', text: 'two', toolCalls: [], finish: 'stop' },
      { kind: 'answered', text: '', toolCalls: [], finish: '' },
    ])
    expect(turns.map(turn => turn.text)).toEqual(['one', 'two', ''])
  })

  test('a cursor that is carried over goes on where it was', async () => {
    const turns = parseTurns('f', '[{"content":"one"},{"content":"two"}]')
    const cursor = { next: 0 }
    await playTurn(new FakeClient(turns, cursor))
    expect((await playTurn(new FakeClient(turns, cursor))).text).toBe('two')
  })

  test.each(['', ' ', 'word', 'a few words, and more', '  led by blanks\n\nand\ttabs ', 'w '.repeat(5000)])(
    'content %j is streamed whole in a few pieces',
    async content => {
      const { parts, text, outcome } = await playTurn(clientOf({ content }))
      expect(text).toBe(content)
      expect(outcome).toMatchObject({ text: content })
      expect(parts.length).toBeLessThanOrEqual(8)
      if (content.trim().includes(' ')) expect(parts.length).toBeGreaterThan(1)
    },
  )

  test('tool calls take text or objects, and get unique ids', async () => {
    const { outcome, calls } = await playTurn(
      clientOf({
        content: 'go',
        tool_calls: [
          { id: 'a', name: 'ls', arguments: '{"path":"."}' },
          { id: 'a', name: 'read', arguments: { path: 'x', lines: null } },
          { name: 'noop' },
        ],
      }),
    )
    const list = outcome.kind === 'answered' ? outcome.toolCalls : []
    expect(list.map(call => [call.name, call.arguments])).toEqual([
      ['ls', '{"path":"."}'],
      ['read', '{"path":"x","lines":null}'],
      ['noop', '{}'],
    ])
    expect(new Set(list.map(call => call.id)).size).toBe(3)
    expect(calls).toEqual(list)
    expect(outcome).toMatchObject({ finish: 'tool_calls' })
  })

  test('deltas are streamed as they are and make up what is not stated', async () => {
    const deltas = [
      { reasoning: 'hm' },
      { content: 'a' },
      { content: 'b', tool_call: { index: 0, id: 'c1', name: 'ls', arguments: '{"p"' } },
      { tool_call: { index: 1, id: 'c2', name: 'ls', arguments: '{}' } },
      { tool_call: { index: 0, arguments: ':1}' } },
    ]
    const { outcome, parts, calls } = await playTurn(clientOf({ deltas }))
    expect(parts.map(part => part.kind)).toEqual(['thinking', 'text', 'text', 'tool_call', 'tool_call', 'tool_call'])
    const toolCalls = [
      { id: 'c1', name: 'ls', arguments: '{"p":1}' },
      { id: 'c2', name: 'ls', arguments: '{}' },
    ]
    expect(outcome).toMatchObject({ text: 'ab', reasoning: 'hm', toolCalls, finish: 'tool_calls' })
    expect(calls).toEqual(toolCalls)
  })

  test('an error comes after what was streamed', async () => {
    const client = clientOf(
      { error: 'broken' },
      { deltas: [{ content: 'half' }], error: { status: 429, message: 'slow down', retry_after_ms: 20 } },
      { error: { status: 400, category: 'context_length' } },
    )
    expect((await playTurn(client)).outcome).toEqual({
      kind: 'failed',
      failure: { category: 'other', message: 'broken' },
    })
    const half = await playTurn(client)
    expect(half.text).toBe('half')
    expect(half.outcome).toEqual({
      kind: 'failed',
      failure: { category: 'retryable', status: 429, message: 'slow down', retryAfterMs: 20 },
    })
    expect((await playTurn(client)).outcome).toMatchObject({ failure: { category: 'context_length', status: 400 } })
  })

  test.each([
    ['before the first piece', { content: 'x', delay_ms: 3_600_000 }, ''],
    ['between pieces', { content: 'a b', delta_delay_ms: 3_600_000 }, 'a'],
    ['after the last piece', { content: 'a b', hang: true }, 'a b'],
    ['with nothing to say', { hang: true }, ''],
  ])('a wait %s ends with the signal', async (_, turn, text) => {
    const stop = new AbortController()
    const playing = playTurn(clientOf(turn), { signal: stop.signal })
    await new Promise(resolve => setImmediate(resolve))
    stop.abort()
    expect(await playing).toMatchObject({ text, outcome: { kind: 'failed', failure: { category: 'cancelled' } } })
  })

  test('a log that stays behind holds the stream back, but not a cancel', async () => {
    const stop = new AbortController()
    const playing = playTurn(clientOf({ content: 'a b c' }), {
      signal: stop.signal,
      drained: () => new Promise(() => {}),
    })
    await new Promise(resolve => setImmediate(resolve))
    stop.abort()
    expect(await playing).toMatchObject({ text: 'a', outcome: { failure: { category: 'cancelled' } } })
  })

  test('what is asked plays no part', async () => {
    const client = clientOf({ content: 'same' })
    expect((await playTurn(client, { request: modelRequest({ model: 'any', messages: [] }) })).text).toBe('same')
  })
})

describe('the file', () => {
  const undos: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const undo of undos.splice(0)) await undo()
  })

  test('is read whole; nulls and unknown fields do no harm', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fake-turns-'))
    undos.push(() => rm(folder, { recursive: true }))
    const file = join(folder, 'turns.json')
    await writeFile(file, '\uFEFF[{"content":"ü","usage":null,"deltas":null,"cost_status":"","note":1}]')
    expect(await readTurnsFile(file)).toEqual([{ content: 'ü', note: 1 }])
  })

  test.each([
    ['', /SVC_PROVIDER=fake needs SVC_FAKE_TURNS/],
    ['/nowhere/turns.json', /SVC_FAKE_TURNS=\/nowhere\/turns\.json .*cannot be read/],
    ['/dev', /SVC_FAKE_TURNS=\/dev .*cannot be read/],
  ])('%j is refused', async (path, message) => {
    await expect(readTurnsFile(path)).rejects.toThrow(message)
  })

  test.each([
    ['{', /it is not JSON/],
    ['{}', /array of turns/],
    ['[{},3]', /turn 1: /],
    ['[{"content":7}]', /turn 0, field `content`/],
    ['[{},{"usage":{"prompt":-1}}]', /turn 1, field `usage\.prompt`/],
    ['[{"tool_calls":[{"name":"a"},{}]}]', /turn 0, field `tool_calls\.1\.name`/],
    ['[{"cost_status":"free"}]', /turn 0, field `cost_status`/],
    ['[{"delay_ms":1e12}]', /turn 0, field `delay_ms`/],
  ])('text %s is refused, naming variable, file, turn and field', (text, message) => {
    expect(() => parseTurns('t.json', text)).toThrow(message)
    expect(() => parseTurns('t.json', text)).toThrow(/SVC_FAKE_TURNS=t\.json/)
  })
})

describe('a connection', () => {
  test('lists no models, and ends what is under way when it is closed', async () => {
    const client = clientOf({ content: 'a b', hang: true }, { content: 'never' })
    const signal = new AbortController().signal
    expect(await client.fetchModels(signal)).toEqual({ kind: 'listed', body: { object: 'list', data: [] } })
    const playing = playTurn(client)
    await new Promise(resolve => setImmediate(resolve))
    await client.close()
    const closed = { kind: 'failed', failure: { category: 'other', message: 'the fake provider is closed' } }
    expect(await playing).toMatchObject({ text: 'a b', outcome: closed })
    expect((await playTurn(client)).outcome).toEqual(closed)
    expect(await client.fetchModels(signal)).toEqual(closed)
    expect(await client.fetchModels(AbortSignal.abort())).toMatchObject({ failure: { category: 'cancelled' } })
  })
})

describe('the plugin', () => {
  const undos: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const undo of undos.splice(0)) await undo()
  })

  async function opened(config: object, turns: readonly FakeTurn[] = []): Promise<OpenPlugin> {
    const folder = await mkdtemp(join(tmpdir(), 'fake-turns-'))
    undos.push(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 't.json'), JSON.stringify(turns))
    const settings = { provider: 'fake', turns_file: join(folder, 't.json'), model: 'gpt-4.1-mini', ...config }
    const open = await openPlugin(plugin, { config: settings })
    undos.push(() => open.close())
    return open
  }

  const resolve = async ({ hooks }: OpenPlugin, request: object = {}) =>
    (await hooks.providerResolving.promise(request as RunRequest, {} as ActiveRun)) ?? []
  const connect = ({ items }: OpenPlugin, provider: string) =>
    items(MODEL_WIRES)[0]!.open({
      provider,
      baseUrl: 'http://localhost',
      credential: () => undefined,
      headers: {},
      modelPrefix: '',
      traits: () => ({ api: '', quirks: new Set() }),
    })

  test.each(['', 'Fake', 'openai'])('with SVC_PROVIDER=%j it answers nobody and reads nothing', async provider => {
    const open = await opened({ provider, turns_file: '/nowhere' })
    expect(await resolve(open)).toEqual([])
    expect(open.items(PROVIDER_ENTRIES)).toEqual([])
    expect(() => connect(open, 'mine')).toThrow(/mine .*SVC_PROVIDER=fake.*SVC_FAKE_TURNS/)
  })

  test('does not open without a readable turns file', async () => {
    await expect(opened({ turns_file: '' })).rejects.toThrow(/SVC_FAKE_TURNS/)
    await expect(opened({ turns_file: '/nowhere' })).rejects.toThrow(/SVC_FAKE_TURNS/)
  })

  test('pins every run to itself, whatever model and provider it names', async () => {
    const open = await opened({})
    expect(await resolve(open)).toMatchObject([{ provider: 'fake', model: 'gpt-4.1-mini' }])
    expect(await resolve(open, { model: 'a/b', provider_name: 'anthropic' })).toMatchObject([
      { provider: 'fake', model: 'a/b' },
    ])
  })

  test('its catalog holds one hidden provider that its own wire speaks for', async () => {
    const open = await opened({})
    const [catalog] = open.items(PROVIDER_ENTRIES)
    expect(Object.keys(catalog?.providers ?? {})).toEqual(['fake'])
    const entry = catalog?.providers.fake
    expect(Value.Check(ProviderEntry, entry)).toBe(true)
    expect(entry).toMatchObject({ is_hidden: true, api_key_optional: true, models: {} })
    expect(open.items(MODEL_WIRES)[0]?.protocols).toEqual([entry?.protocol])
  })

  test('runs and connections are served from one list of turns', async () => {
    const open = await opened({}, [{ content: 'one' }, { content: 'two' }, { content: 'three' }])
    const [pinned] = await resolve(open)
    const connection = connect(open, 'mine')
    expect(connection.provider).toBe('mine')
    const said = [await playTurn(pinned!.client), await playTurn(connection), await playTurn(pinned!.client)]
    expect(said.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
    await connection.close()
    expect((await playTurn(pinned!.client)).outcome).toMatchObject({ kind: 'answered', text: '' })
  })
})
