import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Failure } from '#contracts/errors'
import type { ModelClient, ModelFailure, ModelOutcome, ModelRequest } from '#contracts/model/client'
import type { ModelWish, Providers } from '#contracts/model/providers'
import type { PluginLog } from '#contracts/plugin'
import { PROVIDERS } from '#contracts/ports'
import { describePlugin } from '#test/kit/describe-plugin'
import { type OpenPlugin, openPlugin } from '#test/kit/open-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { createStandInProviders } from '#test/kit/stand-in-providers'
import { plugin } from './index.js'
import { recordOf } from './record.js'
import { Turns } from './turns.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

const answered = (text: string): ModelOutcome => ({
  kind: 'answered',
  text,
  toolCalls: [],
  finish: 'stop',
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})
const failed = (category: ModelFailure['category'], more: Partial<ModelFailure> = {}): ModelOutcome => ({
  kind: 'failed',
  failure: { category, message: `it was ${category}`, ...more },
})

type Answer = (request: ModelRequest, signal: AbortSignal) => ModelOutcome | Promise<ModelOutcome>

/** Providers whose candidates answer as told, in this order. */
function candidates(facts: object, ...answers: readonly Answer[]) {
  const asked: { provider: string; request: ModelRequest }[] = []
  const wishes: ModelWish[] = []
  const client = (provider: string, answer: Answer): ModelClient => ({
    provider,
    answer: async (request, _, signal) => {
      asked.push({ provider, request })
      return answer(request, signal)
    },
  })
  const providers: Providers = {
    ...createStandInProviders(),
    resolve(wish) {
      wishes.push(wish)
      const found = answers.map((answer, index) => ({
        provider: `p${index}`,
        model: `m${index}`,
        client: client(`p${index}`, answer),
        ...facts,
      }))
      return { candidates: found }
    },
  }
  return { providers, asked, wishes }
}

const opened: OpenPlugin[] = []
const logged: object[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
  logged.length = 0
})

async function open(providers: Providers | undefined, config: object = {}) {
  const write = (facts: object) => void logged.push(facts)
  const log: PluginLog = { debug: write, info: write, warn: write, error: write }
  const one = await openPlugin(plugin, { ports: providers ? [[PROVIDERS, providers]] : [], config, log })
  opened.push(one)
  return async (payload: unknown) => {
    const reply = await one.app.inject({ method: 'POST', url: '/v1/summarize', payload: payload as object })
    return [reply.statusCode, reply.json()] as const
  }
}

const BODY = { messages: [{ role: 'user', content: 'paint it blue' }] }

test('the answer of the default model is the summary', async () => {
  const { providers, asked, wishes } = candidates({}, () => answered('  they want it blue\n'))
  const ask = await open(providers)
  const body = {
    messages: [
      { role: 'user', content: 'paint it blue', name: 'extra' },
      { role: 'assistant', content: 'done' },
    ],
    system: 'One sentence.',
  }
  expect(await ask(body)).toEqual([200, { summary: 'they want it blue' }])
  expect(wishes).toEqual([{ allow_fallback: true }])
  expect(asked[0]?.request).toMatchObject({
    model: 'm0',
    messages: [{ role: 'user', content: 'Summarise this record.\n\n[user]\npaint it blue\n\n[assistant]\ndone' }],
    tools: [],
    maxOutputTokens: 4096,
  })
  expect(asked[0]?.request.system).toMatch(/^You write summaries[\s\S]*adds:\nOne sentence\.$/)
  expect(logged).toEqual([expect.objectContaining({ tenant: 'default', provider: 'p0', model: 'm0' })])
})

test('the summariser’s model is asked where the deployment names one, with no more tokens than it can write', async () => {
  const { providers, asked, wishes } = candidates({ maxOutputTokens: 512 }, () => answered('short'))
  const ask = await open(providers, { model: 'small' })
  expect((await ask(BODY))[0]).toBe(200)
  expect(wishes).toEqual([{ model: 'small', allow_fallback: true }])
  expect(asked[0]?.request.maxOutputTokens).toBe(512)
  expect(asked[0]?.request.system).not.toContain('adds:')
})

test('what the model cannot read is left out of the middle', async () => {
  const { providers, asked } = candidates({ contextWindow: 1000 }, () => answered('ok'))
  const ask = await open(providers)
  const messages = Array.from({ length: 200 }, (_, index) => ({ role: 'user', content: `message ${index}` }))
  await ask({ messages })
  const content = asked[0]?.request.messages[0]?.content ?? ''
  expect(content.length).toBeLessThan(2_100)
  expect(content).toMatch(
    /^Summarise this record\.\n\n\[user\]\nmessage 0\n\n\[\d+ messages left out\][\s\S]*message 199$/,
  )
})

test('a record keeps both ends of long messages and never passes its size by more than its marks', () => {
  const long = `start${'x'.repeat(100_000)}end`
  const one = recordOf([{ role: 'user', content: long }], 200_000)
  expect(one).toMatch(/^\[user\]\nstart[\s\S]*characters left out[\s\S]*end$/)
  for (const size of [100, 1_000, 50_000])
    expect(
      recordOf(
        Array.from({ length: 30 }, () => ({ role: 'tool', content: long })),
        size,
      ).length,
    ).toBeLessThan(size + 150)
})

test.each([
  ['messages', {}],
  ['messages', { messages: [] }],
  ['messages', { messages: 'x' }],
  ['messages', { messages: [{ role: 'user', content: ' \n' }] }],
  ['messages/0/content', { messages: [{ role: 'user' }] }],
  ['messages/0/content', { messages: [{ role: 'user', content: 5 }] }],
  ['messages/0/role', { messages: [{ content: 'x' }] }],
  ['system', { ...BODY, system: 5 }],
])('a body with a wrong %s is refused by its name: %j', async (field, body) => {
  const { providers, asked } = candidates({}, () => answered('x'))
  const [status, reply] = await (await open(providers))(body)
  expect([status, reply.error.code, asked]).toEqual([400, 'invalid_request', []])
  expect(reply.error.message).toContain(field)
})

test.each([
  ['no providers', undefined, 'providers are not configured here'],
  [
    'no provider that can be asked',
    {
      ...createStandInProviders(),
      resolve() {
        throw new Failure('not_configured', 'openai: set OPENAI_API_KEY')
      },
    } as Providers,
    'set OPENAI_API_KEY',
  ],
])('with %s it is 503', async (_, providers, why) => {
  const [status, reply] = await (await open(providers))(BODY)
  expect([status, reply.error.code]).toEqual([503, 'summarizer_not_configured'])
  expect(reply.error.message).toContain(why)
})

test.each([
  ['auth', 'it was auth'],
  ['context_length', 'it was context_length'],
  ['content', 'it was content'],
  ['other', 'it was other'],
] as const)('a failure of the kind %s is told, and nobody else is asked', async (category, why) => {
  const { providers, asked } = candidates(
    {},
    () => failed(category),
    () => answered('x'),
  )
  const [status, reply] = await (await open(providers))(BODY)
  expect([status, reply.error.code, asked.length]).toEqual([500, 'summarize_failed', 1])
  expect(reply.error.message).toContain(why)
})

test('an empty answer is a failure', async () => {
  const { providers } = candidates({}, () => answered(' \n'))
  const [status, reply] = await (await open(providers))(BODY)
  expect([status, reply.error.code]).toEqual([500, 'summarize_failed'])
  expect(reply.error.message).toContain('p0 answered with nothing')
})

test('a gateway that timed out is not asked again, but the next provider is', async () => {
  const { providers, asked } = candidates(
    {},
    () => failed('other', { status: 504 }),
    () => answered('second'),
  )
  expect(await (await open(providers))(BODY)).toEqual([200, { summary: 'second' }])
  expect(asked.map(({ provider }) => provider)).toEqual(['p0', 'p1'])
})

describe('in time', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  const turn = () => new Promise(resolve => setImmediate(resolve))

  /** Once a model was asked: the number of calls after the time has passed. */
  async function callsAfter(ms: number, asked: readonly unknown[]): Promise<number> {
    while (asked.length === 0) await turn()
    await turn()
    await vi.advanceTimersByTimeAsync(ms)
    await turn()
    return asked.length
  }

  test('who cannot answer now is asked once more after the wait it asks for', async () => {
    const outcomes = [failed('retryable', { retryAfterMs: 7_000 }), answered('at last')]
    const { providers, asked } = candidates({}, () => outcomes.shift() ?? answered('too often'))
    const reply = (await open(providers))(BODY)
    expect([await callsAfter(6_990, asked), await callsAfter(20, asked)]).toEqual([1, 2])
    expect(await reply).toEqual([200, { summary: 'at last' }])
  })

  test('then the next provider, with its own model', async () => {
    const { providers, asked } = candidates(
      {},
      () => failed('retryable'),
      () => answered('second'),
    )
    const reply = (await open(providers))(BODY)
    await callsAfter(600, asked)
    expect(await reply).toEqual([200, { summary: 'second' }])
    expect(asked.map(({ provider, request }) => [provider, request.model])).toEqual([
      ['p0', 'm0'],
      ['p0', 'm0'],
      ['p1', 'm1'],
    ])
  })

  test('when nobody is left the last failure is told', async () => {
    const { providers, asked } = candidates({}, () => failed('retryable', { message: 'p0 answered 503' }))
    const reply = (await open(providers))(BODY)
    await callsAfter(600, asked)
    expect((await reply)[1].error).toEqual({
      code: 'summarize_failed',
      message: 'no summary could be written: p0 answered 503',
    })
    expect(asked).toHaveLength(2)
  })

  test('a wait that does not fit is not waited for', async () => {
    const { providers, asked } = candidates(
      {},
      () => failed('retryable', { retryAfterMs: 30_000 }),
      () => answered('second'),
    )
    const reply = (await open(providers, { timeout_seconds: 20 }))(BODY)
    await callsAfter(0, asked)
    expect(await reply).toEqual([200, { summary: 'second' }])
  })

  test('a model that takes too long is cancelled', async () => {
    let isCancelled = false
    const { providers, asked } = candidates({}, (_, signal) =>
      new Promise<void>(resolve => signal.addEventListener('abort', () => resolve())).then(() => {
        isCancelled = true
        return failed('cancelled')
      }),
    )
    const reply = (await open(providers, { timeout_seconds: 20 }))(BODY)
    await callsAfter(19_990, asked)
    expect(isCancelled).toBe(false)
    await callsAfter(20, asked)
    const [status, { error }] = await reply
    expect([status, error.code, isCancelled]).toEqual([500, 'summarize_failed', true])
    expect(error.message).toContain('longer than 20 seconds')
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('a client that hangs up cancels the model, also while it waits to ask again', async () => {
  const hung: string[] = []
  let arrived = (): void => undefined
  const { providers, asked } = candidates({}, (_, signal) => {
    arrived()
    if (asked.length === 1)
      return new Promise<void>(resolve => signal.addEventListener('abort', () => resolve())).then(() => {
        hung.push('asked')
        return failed('cancelled')
      })
    signal.addEventListener('abort', () => hung.push('waiting'))
    return failed('retryable', { retryAfterMs: 60_000 })
  })
  await open(providers)
  const url = await opened[0]!.app.listen({ port: 0, host: '127.0.0.1' })
  for (const step of ['asked', 'waiting']) {
    const leaving = new AbortController()
    const arrival = new Promise<void>(resolve => {
      arrived = resolve
    })
    const reply = fetch(`${url}/v1/summarize`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(BODY),
      signal: leaving.signal,
    }).catch((error: unknown) => error)
    await arrival
    leaving.abort()
    await reply
    await expect.poll(() => hung).toContain(step)
  }
  expect(asked).toHaveLength(2)
})

test('no more than the allowed number is written at once', async () => {
  const release: (() => void)[] = []
  const { providers } = candidates({}, async () => {
    await new Promise<void>(resolve => release.push(resolve))
    return answered('ok')
  })
  const ask = await open(providers, { max_concurrent: 4 })
  const first = [ask(BODY), ask(BODY)]
  await expect.poll(() => release.length).toBe(2)
  const [status, reply] = await ask(BODY)
  expect([status, reply.error.code]).toEqual([429, 'rate_limited'])
  for (const end of release.splice(0)) end()
  expect((await Promise.all(first)).map(([one]) => one)).toEqual([200, 200])
  const again = ask(BODY)
  await expect.poll(() => release.length).toBe(1)
  release[0]?.()
  expect((await again)[0]).toBe(200)
})

test('tenants do not take each other’s turns, up to the number for all', async () => {
  const turns = new Turns(4)
  const ends: (() => void)[] = []
  const work = () => new Promise<void>(resolve => ends.push(resolve))
  const busy = ['a', 'a', 'b', 'b'].map(tenant => turns.take(tenant, work))
  await expect(turns.take('a', work)).rejects.toMatchObject({ code: 'rate_limited' })
  await expect(turns.take('c', work)).rejects.toMatchObject({ code: 'rate_limited' })
  ends[0]?.()
  await busy[0]
  const mine = turns.take('c', work)
  for (const end of ends) end()
  await Promise.all([...busy, mine])
})
