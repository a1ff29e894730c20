import { describe, expect, test } from 'vitest'
import type { ModelClient } from '#contracts/model/client'
import type { ScriptedTurn, ScriptedWire } from './chat-wire.js'
import type { ModelServer, Respond } from './model-server.js'
import { loopTurns, stream } from './model-stream.js'
import { playTurn } from './model-turn.js'
import { seeded } from './seed.js'

/** A client of the wire under test, before a server that answers like this. */
export type GivenModel = (respond: Respond) => Promise<{ readonly client: ModelClient; readonly server: ModelServer }>

const LONG_TURN: ScriptedTurn = {
  thinking: 'erst dénken 🤔',
  chunks: ['Grüße', ' 🎈', '\n\ndata: not an event\n\n', ' 漢字'],
  toolCalls: [
    { id: 'one', name: 'read', arguments: { path: 'ä/🎈.txt' } },
    { id: 'two', name: 'write', arguments: { path: 'b', text: 'line\nline "quoted" \\ \u2028' } },
    { id: 'three', name: 'noop', arguments: {} },
  ],
  usage: { prompt: 7, completion: 3 },
}

/** The part of the contract that is about what servers and networks do wrong. Called by `describeModelClient`. */
export function describeModelFaults(name: string, wire: ScriptedWire, given: GivenModel): void {
  const sending = (bytes: string | Buffer) => given((_, response) => void stream(response).end(bytes))

  describe(`${name}, however its server behaves`, () => {
    test('reads the same from pieces of any size', { timeout: 60_000 }, async () => {
      const random = seeded(`${name}, pieces`)
      const bytes = Buffer.from(wire.frames(LONG_TURN).join(''))
      const { client } = await given(async (_, response, index) => {
        stream(response)
        for (let at = 0; at < bytes.length; ) {
          const next = index === 0 ? bytes.length : at + 1 + Math.floor(random() ** 3 * 400)
          response.write(bytes.subarray(at, next))
          at = next
          await loopTurns(1)
        }
        response.end()
      })
      const whole = await playTurn(client)
      expect(whole.outcome).toMatchObject({
        text: LONG_TURN.chunks?.join(''),
        reasoning: LONG_TURN.thinking,
        finish: 'tool_calls',
        toolCalls: LONG_TURN.toolCalls?.map(call => ({ ...call, arguments: JSON.stringify(call.arguments) })),
      })
      expect(whole.calls).toEqual(whole.outcome.kind === 'answered' && whole.outcome.toolCalls)
      const turns = await Promise.all(Array.from({ length: 30 }, () => playTurn(client)))
      for (const { outcome, text, thinking, calls } of turns) {
        expect(outcome).toEqual(whole.outcome)
        expect({ text, thinking, calls }).toEqual({ text: whole.text, thinking: whole.thinking, calls: whole.calls })
      }
    })

    test.each(wire.usageForms ?? [])('reads usage: $name', async ({ frames, usage }) => {
      const { client } = await sending(frames.join(''))
      const { outcome } = await playTurn(client)
      expect(outcome.kind === 'answered' && outcome.usage).toEqual(usage)
    })

    test('takes an empty answer for an answer', async () => {
      const { client } = await sending(wire.frames({}).join(''))
      const { outcome, parts } = await playTurn(client)
      expect(outcome).toMatchObject({ kind: 'answered', text: '', toolCalls: [], finish: 'stop' })
      expect(parts).toEqual([])
    })

    test.each([
      ['before the first byte', 0],
      ['in the middle of a frame', 2.5],
      ['between two frames', 3],
    ])('calls a connection reset %s retryable, and asks once', async (_, count) => {
      const frames = wire.frames({ chunks: ['a', 'b', 'c'] })
      const { client, server } = await given(async (_call, response) => {
        if (count > 0) {
          const half = frames[Math.floor(count)]?.slice(0, 20) ?? ''
          stream(response).write(frames.slice(0, Math.floor(count)).join('') + (Number.isInteger(count) ? '' : half))
          await loopTurns(5)
        }
        response.socket?.resetAndDestroy()
      })
      const { outcome, text } = await playTurn(client)
      expect(outcome).toMatchObject({ kind: 'failed', failure: { category: 'retryable' } })
      expect(text).toBe(['', '', 'a', 'ab'][Math.floor(count)])
      expect(server.calls.length).toBe(1)
    })

    test.each([
      ['after its headers', 0],
      ['inside a frame', 1.5],
      ['after the last chunk', 4],
    ])('gives up a stream that goes silent %s', async (_, count) => {
      const frames = wire.frames({ chunks: ['a', 'b', 'c'], usage: null })
      const { client, server } = await given((_call, response) => {
        stream(response).flushHeaders()
        const half = Number.isInteger(count) ? '' : (frames[Math.floor(count)]?.slice(0, 20) ?? '')
        const bytes = frames.slice(0, Math.floor(count)).join('') + half
        if (bytes !== '') response.write(bytes)
      })
      const { outcome } = await playTurn(client)
      expect(outcome).toMatchObject({
        kind: 'failed',
        failure: { category: 'retryable', message: expect.stringMatching(/stalled/) },
      })
      expect(await (await server.call(0)).closed).toBe(true)
      expect(server.calls.length).toBe(1)
    })

    test.each(wire.malformedFrames ?? [])('fails the turn at the malformed frame %j', async malformed => {
      const [first = '', second = '', ...rest] = wire.frames({ chunks: ['a', 'b'] })
      const { client, server } = await sending([first, second, malformed, ...rest].join(''))
      const { outcome, text } = await playTurn(client)
      expect(outcome).toMatchObject({
        kind: 'failed',
        failure: { category: 'other', message: expect.stringMatching(/chunk \d+ /) },
      })
      expect(text).toBe('a')
      expect(server.calls.length).toBe(1)
    })

    test.each(wire.tooLong ?? [])('knows a request that is too long: $status $message', async error => {
      const { status, message, code } = error
      const { client } = await given((_, response) => void response.writeHead(status).end(wire.error(message, code)))
      expect((await playTurn(client)).outcome).toMatchObject({
        kind: 'failed',
        failure: { category: 'context_length', status },
      })
    })

    test.each([
      [400, 'max_tokens is too large: 99999. This model supports at most 16384 completion tokens.', 'other'],
      [400, 'a token was not recognised: context', 'other'],
      [429, 'Rate limit reached: too many tokens per minute', 'retryable'],
    ])('does not take HTTP %i "%s" for one', async (status, message, category) => {
      const { client } = await given((_, response) => void response.writeHead(status).end(wire.error(message)))
      expect((await playTurn(client)).outcome).toMatchObject({ kind: 'failed', failure: { category, status } })
    })

    test('shows the words of an error page, not its markup', async () => {
      const page =
        '<!DOCTYPE html><html><head><title>502</title><style>h1{color:red}</style><script>var a="<b>"</script></head>' +
        '<body><h1>Bad gateway</h1><p>The origin  is\n<b>down</b>.</p></body></html>'
      const { client } = await given(
        (_, response) => void response.writeHead(502, { 'content-type': 'text/html' }).end(page),
      )
      const { outcome } = await playTurn(client)
      const message = outcome.kind === 'failed' ? outcome.failure.message : ''
      expect(message).toMatch(/Bad gateway/)
      expect(message).toMatch(/is down/)
      expect(message).not.toMatch(/[<>]|color|var a/)
    })

    test.each([
      [408, 'other'],
      [429, 'retryable'],
      [503, 'retryable'],
      [504, 'other'],
      [529, 'retryable'],
    ])('keeps the wait that HTTP %i asks for, and asks once', async (status, category) => {
      const { client, server } = await given((_, response) => {
        response.writeHead(status, { 'retry-after': '3', 'content-type': 'application/json' }).end(wire.error('later'))
      })
      expect((await playTurn(client)).outcome).toMatchObject({
        kind: 'failed',
        failure: { category, status, retryAfterMs: 3000 },
      })
      expect(server.calls.length).toBe(1)
    })

    test('knows the status of an error whose body breaks off or never ends', async () => {
      const { client } = await given(async (_, response, index) => {
        response.writeHead(429, { 'retry-after': '2', 'content-type': 'application/json' })
        response.write('{"error":{"message":"slow d')
        await loopTurns(5)
        if (index === 0) response.destroy()
      })
      for (const { outcome } of [await playTurn(client), await playTurn(client)])
        expect(outcome).toMatchObject({
          kind: 'failed',
          failure: { category: 'retryable', status: 429, retryAfterMs: 2000 },
        })
    })

    test('answers the next turn after any failure', async () => {
      const frames = wire.frames({ chunks: ['a', 'b'] })
      const failures: Respond[] = [
        (_, response) => void response.writeHead(500).end('oops'),
        (_, response) => void response.socket?.resetAndDestroy(),
        (_, response) => void stream(response).end(frames.slice(0, 2).join('')),
        (_, response) => void stream(response).end(frames[0] + wire.malformedFrame),
        (_, response) => void stream(response).write(frames[0]),
      ]
      const { client } = await given((call, response, index) =>
        index % 2 === 0 ? failures[index / 2]?.(call, response, index) : void stream(response).end(frames.join('')),
      )
      for (let turn = 0; turn < failures.length; turn++) {
        expect((await playTurn(client)).outcome.kind).toBe('failed')
        expect((await playTurn(client)).outcome).toMatchObject({ kind: 'answered', text: 'ab' })
      }
    })

    test('ends a cancelled turn while the log is behind, and shows nothing more of it', async () => {
      const { client, server } = await given((_, response) => {
        stream(response).write(wire.frames(LONG_TURN).slice(0, -1).join(''))
      })
      for (const stopAt of ['text', 'tool_call'] as const) {
        const stop = new AbortController()
        let late = 0
        const { outcome } = await playTurn(client, {
          signal: stop.signal,
          onPart: part => {
            if (stop.signal.aborted) late++
            else if (part.kind === stopAt) setImmediate(() => stop.abort())
          },
          drained: () => new Promise(() => {}),
        })
        expect(outcome).toMatchObject({ kind: 'failed', failure: { category: 'cancelled' } })
        expect(late).toBe(0)
      }
      for (const index of [0, 1]) expect(await (await server.call(index)).closed).toBe(true)
    })
  })
}
