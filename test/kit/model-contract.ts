import { afterEach, describe, expect, test } from 'vitest'
import type { ModelClient } from '#contracts/model/client'
import type { ScriptedTurn, ScriptedWire } from './chat-wire.js'
import { describeModelFaults } from './model-faults.js'
import { type ModelServer, type Respond, startModelServer } from './model-server.js'
import { loopTurns, stream } from './model-stream.js'
import { playTurn } from './model-turn.js'

export interface ModelSubject {
  readonly wire: ScriptedWire
  /** A client that talks to `origin` with this key and takes `idleMs` of silence for a stall. */
  open(settings: { readonly origin: string; readonly apiKey: string; readonly idleMs: number }): ModelClient
  close(client: ModelClient): Promise<void>
}

const API_KEY = 'sk-contract-0123456789'
const IDLE_MS = 400

/** What every `ModelClient` on a wire must do, shown against a local server that speaks that wire. */
export function describeModelClient(name: string, { wire, open, close }: ModelSubject): void {
  const undos: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const undo of undos.splice(0).reverse()) await undo()
  })

  async function given(respond: Respond): Promise<{ client: ModelClient; server: ModelServer }> {
    const server = await startModelServer(respond)
    undos.push(() => server.close())
    const client = open({ origin: server.origin, apiKey: API_KEY, idleMs: IDLE_MS })
    undos.push(() => close(client))
    return { client, server }
  }

  const answering = (turn: ScriptedTurn) =>
    given((_, response) => void stream(response).end(wire.frames(turn).join('')))

  describe(`${name} keeps the promises of a model client`, () => {
    test('text and thinking are streamed piece by piece, and the answer repeats them', async () => {
      const { client } = await answering({ thinking: 'let me see', chunks: ['Hel', 'lo, ', 'wörld 🎈'] })
      const turn = await playTurn(client)
      expect(turn.parts.filter(part => part.kind === 'text').map(part => part.text)).toEqual([
        'Hel',
        'lo, ',
        'wörld 🎈',
      ])
      expect(turn.outcome).toMatchObject({
        kind: 'answered',
        text: 'Hello, wörld 🎈',
        reasoning: 'let me see',
        finish: 'stop',
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        toolCalls: [],
      })
      expect(turn.thinking).toBe('let me see')
    })

    test('parallel tool calls arrive whole, in order, with ids of their own', async () => {
      const args = [{ path: 'a/ü.txt' }, { path: 'b', deep: { list: [1, '🎈', null] } }, {}]
      const { client } = await answering({
        text: 'on it',
        toolCalls: args.map((each, index) => ({ id: `id${index}`, name: `tool${index}`, arguments: each })),
      })
      const turn = await playTurn(client)
      const calls = args.map((each, index) => ({
        id: `id${index}`,
        name: `tool${index}`,
        arguments: JSON.stringify(each),
      }))
      expect(turn.outcome).toMatchObject({ kind: 'answered', text: 'on it', toolCalls: calls, finish: 'tool_calls' })
      expect(turn.calls).toEqual(calls)
    })

    test('ids that a server uses twice in an answer are made unique', async () => {
      const { client } = await answering({
        toolCalls: [1, 2, 3].map(n => ({ id: 'same', name: 'read', arguments: `{"n":${n}}` })),
      })
      const { outcome, calls } = await playTurn(client)
      const list = outcome.kind === 'answered' ? outcome.toolCalls : []
      expect(list.map(call => call.arguments)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}'])
      expect(new Set(list.map(call => call.id)).size).toBe(3)
      expect(calls).toEqual(list)
    })

    test('an answer cut into two reads at any byte reads the same', { timeout: 60_000 }, async () => {
      const bytes = Buffer.from(
        wire
          .frames({ thinking: 'é', chunks: ['añ', '🎈b'], toolCalls: [{ id: 'i', name: 't', arguments: '{"x":"ß"}' }] })
          .join(''),
      )
      let at = 0
      const { client } = await given(async (_, response) => {
        const cut = at++
        stream(response).write(bytes.subarray(0, cut))
        await loopTurns(2)
        response.end(bytes.subarray(cut))
      })
      const whole = await playTurn(client)
      expect(whole.outcome).toMatchObject({
        text: 'añ🎈b',
        toolCalls: [{ id: 'i', name: 't', arguments: '{"x":"ß"}' }],
      })
      for (let first = 1; first < bytes.length; first += 16) {
        const group = await Promise.all(Array.from({ length: 16 }, () => playTurn(client)))
        for (const turn of group) expect(turn).toEqual(whole)
      }
    })

    test('an answer that comes byte by byte with other line ends reads the same', async () => {
      const text = wire.frames({ chunks: ['añ', '🎈b'] }).join('')
      let lineEnd = ''
      const { client } = await given(async (_, response) => {
        stream(response)
        for (const byte of Buffer.from(`\uFEFF: a comment\n${text}`.replaceAll('\n', lineEnd))) {
          response.write(Buffer.of(byte))
          await loopTurns(1)
        }
        response.end()
      })
      for (lineEnd of ['\n', '\r\n', '\r']) {
        const { outcome } = await playTurn(client)
        expect(outcome).toMatchObject({ kind: 'answered', text: 'añ🎈b', finish: 'stop' })
      }
    })

    test('usage is as reported, and absent when none was', async () => {
      const turns: ScriptedTurn[] = [
        { text: 'a', usage: { prompt: 7, completion: 2, cached: 4 } },
        { text: 'b', usage: null },
      ]
      const { client } = await given(
        (_, response, index) => void stream(response).end(wire.frames(turns[index]!).join('')),
      )
      expect((await playTurn(client)).outcome).toMatchObject({
        usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9, cached_prompt_tokens: 4 },
      })
      expect((await playTurn(client)).outcome).not.toHaveProperty('usage')
    })

    test('a cancelled turn ends at once and hangs up', async () => {
      const frames = wire.frames({ chunks: ['a', 'b', 'c'] })
      const { client, server } = await given((_, response, index) => {
        if (index > 0) stream(response).write(frames.slice(0, -2).join(''))
      })
      const beforeHeaders = new AbortController()
      const silent = playTurn(client, { signal: beforeHeaders.signal })
      const silentCall = await server.call(0)
      beforeHeaders.abort()
      expect((await silent).outcome).toMatchObject({ kind: 'failed', failure: { category: 'cancelled' } })
      expect(await silentCall.closed).toBe(true)

      const midStream = new AbortController()
      const turn = await playTurn(client, {
        signal: midStream.signal,
        onPart: part => part.kind === 'text' && part.text === 'b' && midStream.abort(),
      })
      expect(turn.outcome).toMatchObject({ kind: 'failed', failure: { category: 'cancelled' } })
      expect(await (await server.call(1)).closed).toBe(true)

      expect((await playTurn(client, { signal: AbortSignal.abort() })).outcome).toMatchObject({
        failure: { category: 'cancelled' },
      })
      expect(server.calls.length).toBe(2)
    })

    test('a stream that goes silent is given up as stalled', async () => {
      const frames = wire.frames({ chunks: ['a', 'b'] })
      const { client, server } = await given((_, response) => void stream(response).write(frames.slice(0, 2).join('')))
      const { outcome } = await playTurn(client)
      expect(outcome).toMatchObject({
        kind: 'failed',
        failure: { category: 'retryable', message: expect.stringMatching(/stalled/) },
      })
      expect(await (await server.call(0)).closed).toBe(true)
    })

    test('a malformed chunk fails the turn and says where', async () => {
      const frames = wire.frames({ chunks: ['a', 'b'] })
      const { client } = await given((_, response) => {
        const [first = '', second = '', ...rest] = frames
        stream(response).end([first, second, wire.malformedFrame, ...rest].join(''))
      })
      const { outcome, text } = await playTurn(client)
      const before =
        frames
          .slice(0, 2)
          .join('')
          .match(/^data:/gm)?.length ?? 0
      expect(outcome).toMatchObject({
        kind: 'failed',
        failure: { category: 'other', message: expect.stringMatching(new RegExp(`chunk ${before + 1}\\b`)) },
      })
      expect(text).toBe('a')
    })

    test('an answer without an end, or with a broken connection, is retryable', async () => {
      const frames = wire.frames({ chunks: ['a', 'b'], usage: null })
      const { client } = await given(async (_, response, index) => {
        stream(response).write(frames.slice(0, 3).join('') + (index === 1 ? frames[3]?.slice(0, -9) : ''))
        await loopTurns(3)
        if (index < 2) response.end()
        else response.destroy()
      })
      for (const cut of [await playTurn(client), await playTurn(client)])
        expect(cut.outcome).toMatchObject({
          failure: { category: 'retryable', message: expect.stringMatching(/ended early/) },
        })
      const broken = await playTurn(client)
      expect(broken.outcome).toMatchObject({ failure: { category: 'retryable' } })
      expect(broken.text).toBe('ab')
    })

    test('nobody there: retryable, and the message names the host', async () => {
      const { client, server } = await answering({ text: 'x' })
      await server.close()
      const host = new URL(server.origin).host
      expect((await playTurn(client)).outcome).toMatchObject({
        failure: { category: 'retryable', message: expect.stringContaining(host) },
      })
    })

    test.each([
      [400, 'bad field', undefined, 'other'],
      [400, 'This model maximum context length is 10 tokens', 'context_length_exceeded', 'context_length'],
      [400, 'filtered', 'content_filter', 'content'],
      [401, `bad key ${API_KEY}`, 'invalid_api_key', 'auth'],
      [403, 'not allowed', undefined, 'auth'],
      [404, 'no such model', 'model_not_found', 'other'],
      [408, 'you were too slow', undefined, 'other'],
      [413, 'too large', undefined, 'context_length'],
      [422, 'messages.0.content: field required', undefined, 'other'],
      [429, 'slow down', 'rate_limit_exceeded', 'retryable'],
      [500, 'oops', undefined, 'retryable'],
      [502, '<html><style>b{}</style><h1>Bad <b>gateway</b></h1></html>', undefined, 'retryable'],
      [503, 'busy', undefined, 'retryable'],
      [504, 'late', undefined, 'other'],
      [529, 'overloaded', undefined, 'retryable'],
    ])('HTTP %i (%s) is classified', async (status, message, code, category) => {
      const { client } = await given((_, response) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(wire.error(message, code))
      })
      const { outcome } = await playTurn(client)
      expect(outcome).toMatchObject({ kind: 'failed', failure: { category, status } })
      expect(JSON.stringify(outcome)).not.toMatch(new RegExp(`${API_KEY}|[<>]`))
    })

    test.each([
      ['7', 7000, 7000],
      ['100000', 30_000, 30_000],
      [() => new Date(Date.now() + 10_000).toUTCString(), 5000, 10_000],
      ['Wed, 21 Oct 2015 07:28:00 GMT', 0, 0],
    ])('Retry-After %s is read and capped', async (value, least, most) => {
      const { client } = await given((_, response) => {
        const retryAfter = typeof value === 'string' ? value : value()
        response.writeHead(429, { 'retry-after': retryAfter }).end(wire.error('slow down'))
      })
      const { outcome } = await playTurn(client)
      const waitMs = outcome.kind === 'failed' ? outcome.failure.retryAfterMs : undefined
      expect(waitMs).toBeGreaterThanOrEqual(least)
      expect(waitMs).toBeLessThanOrEqual(most)
    })

    test('a long error body is summarised', async () => {
      const { client } = await given((_, response) => {
        response
          .writeHead(400, { 'content-type': 'text/html' })
          .end(`<p>${'<'.repeat(50)}${'word '.repeat(1_000_000)}</p>`)
      })
      const { outcome } = await playTurn(client)
      expect(outcome.kind === 'failed' && outcome.failure.message.length).toBeLessThan(460)
    })

    test('a redirect is not followed: the key stays with its server', async () => {
      const other = await startModelServer((_, response) => void response.end())
      undos.push(() => other.close())
      const { client } = await given((call, response) => {
        response.writeHead(307, { location: `${other.origin}${call.path}` }).end()
      })
      expect((await playTurn(client)).outcome).toMatchObject({
        kind: 'failed',
        failure: { category: 'other', status: 307 },
      })
      expect(other.calls).toEqual([])
    })

    test('nothing is read while the log is behind', async () => {
      const chunk = 'x'.repeat(8192)
      const frames = wire.frames({ chunks: Array.from({ length: 1000 }, () => chunk) })
      let unsent = 0
      const { client } = await given(async (_, response) => {
        stream(response).write(frames.join(''))
        await loopTurns(200)
        unsent = response.writableLength
        response.end()
      })
      let isHeld = false
      let readWhileHeld = 0
      const drained = async () => {
        isHeld = true
        await loopTurns(unsent === 0 ? 400 : 1)
        isHeld = false
      }
      const { outcome } = await playTurn(client, { drained, onPart: () => (readWhileHeld += isHeld ? 1 : 0) })
      expect(outcome).toMatchObject({ kind: 'answered', text: chunk.repeat(1000) })
      expect(readWhileHeld).toBe(0)
      expect(unsent).toBeGreaterThan(1_000_000)
    })

    test('a chunk costs the same at the end of a long answer', { timeout: 60_000 }, async () => {
      const frames = (count: number) => wire.frames({ chunks: Array.from({ length: count }, () => 'token ') }).join('')
      const answers = [...Array.from({ length: 21 }, () => Buffer.from(frames(1000))), Buffer.from(frames(100_000))]
      const { client } = await given((_, response, index) => void stream(response).end(answers[index]))
      const cpuMs = async () => {
        const before = process.cpuUsage()
        expect((await playTurn(client)).outcome).toMatchObject({ kind: 'answered', finish: 'stop' })
        const { user, system } = process.cpuUsage(before)
        return (user + system) / 1000
      }
      await cpuMs()
      let short = 0
      for (let round = 0; round < 20; round++) short += await cpuMs()
      const long = await cpuMs()
      expect(long / 100_000 / (short / 20_000)).toBeLessThan(4)
    })

    test('many turns run at once on one client', async () => {
      const { client } = await answering({ chunks: ['a', 'b'] })
      const turns = await Promise.all(Array.from({ length: 100 }, () => playTurn(client)))
      expect(new Set(turns.map(turn => turn.text))).toEqual(new Set(['ab']))
    })
  })

  describeModelFaults(name, wire, given)
}
