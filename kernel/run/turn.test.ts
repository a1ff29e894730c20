import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { EventDraft } from '#contracts/hooks'
import type { ModelCandidate, ModelFailure, ModelOutcome, ModelPart, ModelRequest } from '#contracts/model/client'
import { fakeRun } from '#test/kit/fake-run'
import { Interrupt } from './interrupt.js'
import type { LiveRun } from './live-run.js'
import { takeTurn } from './turn.js'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => vi.useRealTimers())

type Reply = { readonly shows?: readonly ModelPart[] } & (ModelFailure | { readonly text: string })

/** A provider that answers from a script, its last reply for ever, and notes when it was asked. */
function scripted(provider: string, ...replies: readonly Reply[]) {
  const asked: { readonly atMs: number; readonly request: ModelRequest }[] = []
  const candidate: ModelCandidate = {
    provider,
    model: `${provider}-1`,
    client: {
      provider,
      answer: async (request, sink): Promise<ModelOutcome> => {
        const reply = replies[Math.min(asked.length, replies.length - 1)] as Reply
        asked.push({ atMs: performance.now(), request })
        for (const part of reply.shows ?? []) sink.part(part)
        if ('category' in reply) return { kind: 'failed', failure: reply }
        return { kind: 'answered', text: reply.text, toolCalls: [], finish: 'stop' }
      },
    },
  }
  return { candidate, asked, times: () => asked.map(({ atMs }) => atMs - (asked[0]?.atMs ?? 0)) }
}

const failing = (status: number, more: Partial<ModelFailure> = {}): ModelFailure => ({
  category: status === 504 ? 'other' : 'retryable',
  message: `HTTP ${status}`,
  status,
  ...more,
})

const REQUEST: ModelRequest = {
  model: 'asked-for',
  system: '',
  messages: [],
  trailing: [],
  tools: [],
  runId: 'run_fake',
  conversationId: 'run_fake',
  step: 1,
}

function given({ allow_fallback = true } = {}) {
  const stop = new AbortController()
  const run = Object.assign(fakeRun({ request: { prompt: 'p', allow_fallback }, signal: stop.signal }), {
    candidate: undefined as ModelCandidate | undefined,
    update: () => undefined,
    drained: () => undefined,
  }) as unknown as LiveRun & { readonly emitted: readonly EventDraft[] }
  const ask = (candidates: readonly ModelCandidate[], bounds = { retryMaxAttempts: 3, retryMaxTotalSec: 60 }) => {
    const outcome = takeTurn(run, candidates, REQUEST, bounds)
    outcome.catch(() => undefined)
    return outcome
  }
  const settled = async <T>(outcome: Promise<T>): Promise<T> => {
    await vi.runAllTimersAsync()
    return outcome
  }
  return { run, stop, ask, settled }
}

test('a failure that may pass is tried three times, with growing waits of at most half as much again', async () => {
  const { ask, settled } = given()
  const down = scripted('down', failing(503))
  expect(await settled(ask([down.candidate]))).toMatchObject({ kind: 'failed', failure: { status: 503 } })
  const [, second = 0, third = 0] = down.times()
  expect(down.asked).toHaveLength(3)
  expect(second).toBeGreaterThanOrEqual(500)
  expect(second).toBeLessThanOrEqual(750)
  expect(third - second).toBeGreaterThanOrEqual(1000)
  expect(third - second).toBeLessThanOrEqual(1500)
})

test('what the provider asks to wait replaces the growing wait, up to 30 seconds', async () => {
  const { ask, settled } = given()
  const busy = scripted('busy', failing(429, { retryAfterMs: 7000 }), failing(429, { retryAfterMs: 90_000 }), {
    text: 'hi',
  })
  expect(await settled(ask([busy.candidate]))).toMatchObject({ kind: 'answered', answer: { text: 'hi' } })
  expect(busy.times()).toEqual([0, 7000, 37_000])
})

test('all attempts together keep to their time: a wait is cut to what is left, and nothing is tried after it', async () => {
  const { ask, settled } = given()
  const busy = scripted('busy', failing(429, { retryAfterMs: 20_000 }))
  await settled(ask([busy.candidate], { retryMaxAttempts: 100, retryMaxTotalSec: 50 }))
  expect(busy.times()).toEqual([0, 20_000, 40_000, 50_000])
})

test.each<[string, ModelFailure]>([
  ['a refused key', { category: 'auth', message: 'no', status: 401 }],
  ['a request that is too long', { category: 'context_length', message: 'no', status: 400 }],
  ['refused content', { category: 'content', message: 'no' }],
  ['a gateway that gave up', failing(504)],
])('%s is not tried again', async (_, failure) => {
  const { ask, settled } = given()
  const provider = scripted('strict', failure)
  expect(await settled(ask([provider.candidate]))).toMatchObject({ kind: 'failed', failure })
  expect(provider.asked).toHaveLength(1)
})

test('cancelling during a wait ends it at once', async () => {
  const { ask, stop } = given()
  const busy = scripted('busy', failing(429, { retryAfterMs: 30_000 }))
  const outcome = ask([busy.candidate])
  await vi.advanceTimersByTimeAsync(10)
  const before = performance.now()
  stop.abort(new Interrupt('cancelled'))
  await expect(outcome).rejects.toThrow('run cancelled')
  expect([performance.now() - before, busy.asked.length]).toEqual([0, 1])
})

test.each([429, 500, 502, 503, 504, 529])(
  'after its retries a %i hands the turn to the next candidate',
  async status => {
    const { run, ask, settled } = given()
    const [first, second] = [scripted('first', failing(status)), scripted('second', { text: 'hi' })]
    const turn = await settled(ask([first.candidate, second.candidate]))
    expect(turn).toMatchObject({ kind: 'answered', candidate: { provider: 'second' } })
    expect(second.asked[0]?.request.model).toBe('second-1')
    expect(run.emitted).toEqual([
      {
        type: 'prompt.warning',
        payload: {
          code: 'provider_fallback',
          message: 'first could not answer; second is asked instead',
          step: 1,
          from_provider: 'first',
          to_provider: 'second',
          reason: `HTTP ${status}`,
        },
      },
      { type: 'provider.resolved', payload: { model: 'second-1', provider: 'second' } },
    ])
  },
)

test('a connection that cannot be made hands over too', async () => {
  const { ask, settled } = given()
  const gone = scripted('gone', { category: 'retryable', message: 'connection refused' })
  const second = scripted('second', { text: 'hi' })
  expect(await settled(ask([gone.candidate, second.candidate]))).toMatchObject({ candidate: { provider: 'second' } })
})

test('the run stays with the provider that took over', async () => {
  const { ask, settled } = given()
  const [first, second] = [scripted('first', failing(500)), scripted('second', { text: 'hi' })]
  const candidates = [first.candidate, second.candidate]
  await settled(ask(candidates))
  await settled(ask(candidates))
  expect([first.asked.length, second.asked.length]).toEqual([3, 2])
})

test('a chain is followed to its end, and its last failure is the one that counts', async () => {
  const { run, ask, settled } = given()
  const chain = ['a', 'b', 'c'].map((name, index) => scripted(name, failing([500, 502, 504][index] as number)))
  const turn = await settled(ask(chain.map(({ candidate }) => candidate)))
  expect(turn).toMatchObject({ kind: 'failed', provider: 'c', failure: { status: 504 } })
  expect(run.emitted.filter(({ type }) => type === 'prompt.warning')).toHaveLength(2)
})

test('nobody takes over for a run that did not allow it, nor for a refused key', async () => {
  const second = scripted('second', { text: 'hi' })
  const strict = given({ allow_fallback: false })
  const down = scripted('down', failing(500))
  expect(await strict.settled(strict.ask([down.candidate, second.candidate]))).toMatchObject({ kind: 'failed' })
  const { ask, settled } = given()
  const locked = scripted('locked', { category: 'auth', message: 'no', status: 401 })
  expect(await settled(ask([locked.candidate, second.candidate]))).toMatchObject({ kind: 'failed', provider: 'locked' })
  expect(second.asked).toHaveLength(0)
})

test('once a piece of an answer was shown nobody is asked again', async () => {
  const { run, ask, settled } = given()
  const shown: ModelPart = { kind: 'text', text: 'half a sen' }
  const broken = scripted('broken', { shows: [shown], category: 'retryable', message: 'reset', status: 503 })
  const second = scripted('second', { text: 'hi' })
  expect(await settled(ask([broken.candidate, second.candidate]))).toMatchObject({ kind: 'failed', provider: 'broken' })
  expect([broken.asked.length, second.asked.length]).toEqual([1, 0])
  expect(run.emitted).toEqual([{ type: 'assistant.message.delta', payload: { step: 1, content: 'half a sen' } }])
})
