import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ProviderEntry } from '#contracts/model/provider'
import type { ListedModel, ListedModels } from '#contracts/model/providers'
import type { PluginLog } from '#contracts/plugin'
import { PROVIDERS } from '#contracts/ports'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { createStandInProviders, type StandInProvidersOptions } from '#test/kit/stand-in-providers'
import type { Clock } from './clock.js'
import { plugin } from './index.js'
import { type KnownLists, keepFresh, remember } from './refresh.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

const MINUTE = 60_000
const settle = () => new Promise(resolve => setImmediate(resolve))

/** Time that passes when the test says so. */
class ManualClock implements Clock {
  #now = 0
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>()
  constructor(private readonly chance = 0) {}
  now = () => this.#now
  random = () => this.chance
  sleep = (ms: number, signal: AbortSignal) =>
    new Promise<void>(resolve => {
      const wake = () => {
        signal.removeEventListener('abort', wake)
        if (this.#sleepers.delete(sleeper)) resolve()
      }
      const sleeper = { at: this.#now + ms, wake }
      this.#sleepers.add(sleeper)
      if (signal.aborted) return wake()
      signal.addEventListener('abort', wake)
    })
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await settle()
    for (;;) {
      const [next] = [...this.#sleepers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#now = next.at
      next.wake()
      await settle()
    }
    this.#now = end
  }
}

const entry = (base_url: string, more: Partial<ProviderEntry> = {}): ProviderEntry => ({
  base_url,
  api_key_env: 'ACME_API_KEY',
  protocol: 'openai',
  lists_models: true,
  models: {},
  ...more,
})
const listed = (...ids: readonly string[]): ListedModels => ({ kind: 'listed', models: ids.map(id => ({ id })) })
const failed = (category: 'auth' | 'retryable', message: string): ListedModels => ({
  kind: 'failed',
  failure: { category, message },
})

const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort()
})

/** The refreshing on a clock of the test's own, with every request written down. */
function bench(options: StandInProvidersOptions & { chance?: number; lists?: KnownLists; clock?: ManualClock } = {}) {
  const asked: string[] = []
  const logged: (readonly [string, object, string])[] = []
  const write = (level: string) => (facts: object, message: string) => void logged.push([level, facts, message])
  const log: PluginLog = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const { chance, lists = new Map(), clock = new ManualClock(chance), ...rest } = options
  const providers = createStandInProviders({
    entries: { acme: entry('https://acme.test/v1') },
    variables: { ACME_API_KEY: 'k' },
    ...rest,
    fetch: async (provider, signal) => {
      asked.push(provider)
      return (options.fetch ?? (async () => listed('one')))(provider, signal)
    },
  })
  const stop = new AbortController()
  stops.push(stop)
  const start = () =>
    keepFresh({ providers, lists, config: { refresh_seconds: 300, timeout_seconds: 10 }, clock, log }, stop.signal)
  const ids = (provider = 'acme') => providers.modelsOf(provider).map(({ id }) => id)
  return { asked, logged, providers, lists, clock, stop, start, ids }
}

test('a configured provider that lists models is asked at once, and again when its list is five minutes old', async () => {
  const { asked, clock, start, ids } = bench()
  void start()
  await clock.advance(1_000)
  expect([asked, ids()]).toEqual([['acme'], ['one']])
  await clock.advance(5 * MINUTE - 2_000)
  expect(asked).toHaveLength(1)
  await clock.advance(20_000)
  expect(asked).toHaveLength(2)
  await clock.advance(60 * MINUTE)
  expect(asked.length).toBeGreaterThan(12)
  expect(asked.length).toBeLessThanOrEqual(14)
})

test('chance spreads the first request over a second and the others over a tenth of the time', async () => {
  const { asked, clock, start } = bench({ chance: 0.9 })
  void start()
  await clock.advance(890)
  expect(asked).toEqual([])
  await clock.advance(20)
  expect(asked).toHaveLength(1)
  await clock.advance(5 * MINUTE + 15_000)
  expect(asked).toHaveLength(1)
  await clock.advance(30_000)
  expect(asked).toHaveLength(2)
})

test('nobody is asked who is not configured, lists no models, or is hidden', async () => {
  const { asked, clock, start } = bench({
    entries: {
      keyless: entry('https://a.test', { api_key_env: 'OTHER_KEY' }),
      silent: entry('https://b.test', { lists_models: false }),
      hidden: entry('https://c.test', { is_hidden: true }),
      session: entry('https://d.test', { token_source_required: true }),
    },
  })
  void start()
  await clock.advance(60 * MINUTE)
  expect(asked).toEqual([])
})

test('a provider that gets its key later is asked within a quarter of a minute', async () => {
  const { asked, clock, providers, start } = bench({ variables: {} })
  void start()
  await clock.advance(MINUTE)
  expect(asked).toEqual([])
  await providers.setKey('acme', 'k')
  await clock.advance(15_000)
  expect(asked).toEqual(['acme'])
})

test('a failed refresh keeps the last good list and is logged once per change of state', async () => {
  const answers = [
    listed('one', 'two'),
    failed('retryable', 'acme answered 503'),
    failed('retryable', 'acme answered 500'),
    failed('auth', 'acme answered 401'),
    listed('three'),
    listed('four'),
  ]
  const { clock, start, ids, logged } = bench({ fetch: async () => answers.shift() ?? listed('more') })
  void start()
  await clock.advance(1_000)
  for (let round = 0; round < 3; round += 1) {
    await clock.advance(5 * MINUTE + 15_000)
    expect(ids()).toEqual(['one', 'two'])
  }
  await clock.advance(5 * MINUTE + 15_000)
  expect(ids()).toEqual(['three'])
  await clock.advance(5 * MINUTE + 15_000)
  expect(ids()).toEqual(['four'])
  const why = (reason: string, category: string) => ({ provider: 'acme', category, reason, kept: 2 })
  expect(logged.map(([level, facts]) => [level, facts])).toEqual([
    ['info', { provider: 'acme', models: 2, dropped: 0 }],
    ['warn', why('acme answered 503', 'retryable')],
    ['warn', why('acme answered 401', 'auth')],
    ['info', { provider: 'acme', models: 1, dropped: 0 }],
  ])
})

test('a provider that never had a list contributes nothing when it fails', async () => {
  const { clock, start, providers } = bench({ fetch: async () => failed('retryable', 'down') })
  void start()
  await clock.advance(MINUTE)
  expect(providers.models()).toEqual([])
})

test('no more than four are asked at once, and all are asked', async () => {
  const names = Array.from({ length: 11 }, (_, index) => `p${index}`)
  const open = new Set<() => void>()
  let most = 0
  const { asked, clock, start } = bench({
    entries: Object.fromEntries(names.map(name => [name, entry(`https://${name}.test`)])),
    fetch: async () => {
      const answer = await new Promise<ListedModels>(resolve => {
        const end = () => void (open.delete(end) && resolve(listed('one')))
        open.add(end)
        most = Math.max(most, open.size)
      })
      return answer
    },
  })
  void start()
  await clock.advance(1_000)
  for (let round = 0; round < names.length; round += 1) {
    ;[...open][0]?.()
    await settle()
  }
  expect([most, asked.toSorted()]).toEqual([4, names.toSorted()])
})

test('a provider that takes longer than ten seconds is given up, and the others go on', async () => {
  const ended: string[] = []
  const { clock, start, ids, logged } = bench({
    entries: { slow: entry('https://slow.test'), acme: entry('https://acme.test/v1') },
    fetch: async (provider, signal) => {
      if (provider !== 'slow') return listed('one')
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
      ended.push(provider)
      return { kind: 'failed', failure: { category: 'cancelled', message: 'cancelled' } }
    },
  })
  void start()
  await clock.advance(9_900)
  expect([ended, ids()]).toEqual([[], ['one']])
  await clock.advance(200)
  expect(ended).toEqual(['slow'])
  expect(logged.filter(([level]) => level === 'warn').map(([, facts]) => facts)).toEqual([
    { provider: 'slow', category: 'cancelled', reason: 'no answer within 10 seconds', kept: 0 },
  ])
})

test('being superseded ends a request under way, and what it gave is not learned', async () => {
  const { clock, start, stop, ids, lists, logged } = bench({
    fetch: (_, signal) => new Promise(resolve => signal.addEventListener('abort', () => resolve(listed('late')))),
  })
  const ended = start()
  await clock.advance(1_000)
  stop.abort()
  await ended
  expect([ids(), lists.size, logged]).toEqual([[], 0, []])
})

test('a reload tells the providers what was known and asks nobody before it is time', async () => {
  const before = bench()
  const ended = before.start()
  await before.clock.advance(1_000)
  before.stop.abort()
  await ended
  const after = bench({ lists: before.lists, clock: before.clock })
  remember(after)
  expect(after.ids()).toEqual(['one'])
  void after.start()
  await after.clock.advance(4 * MINUTE)
  expect(after.asked).toEqual([])
  await after.clock.advance(MINUTE + 15_000)
  expect(after.asked).toEqual(['acme'])
})

test('a list of another address is neither remembered nor kept', async () => {
  const { asked, clock, providers, start, ids, lists } = bench()
  void start()
  await clock.advance(1_000)
  providers.overlay({
    providers: { acme: entry('https://elsewhere.test') },
    credentials: { acme: () => ({ secret: 'x' }) },
  })
  providers.learn('acme', [])
  remember({ providers, lists })
  expect(ids()).toEqual([])
  await clock.advance(15_000)
  expect([asked, lists.get('acme')?.baseUrl]).toEqual([['acme', 'acme'], 'https://elsewhere.test'])
})

test('a list that arrives after the address changed is not learned', async () => {
  let answer = (_: ListedModels): void => undefined
  const { clock, providers, start, ids } = bench({
    fetch: () =>
      new Promise(resolve => {
        answer = resolve
      }),
  })
  void start()
  await clock.advance(1_000)
  providers.overlay({ providers: { acme: entry('https://elsewhere.test', { lists_models: false }) } })
  answer(listed('old'))
  await settle()
  expect(ids()).toEqual([])
})

test('a huge list is cut, and ids no model has are left out', async () => {
  const many: ListedModel[] = Array.from({ length: 5_000 }, (_, index) => ({ id: `m${index}` }))
  const { clock, start, ids, logged } = bench({
    fetch: async () => ({ kind: 'listed', models: [{ id: 'x'.repeat(300) }, ...many] }),
  })
  void start()
  await clock.advance(1_000)
  expect(ids()).toHaveLength(2_000)
  expect(logged[0]?.[1]).toEqual({ provider: 'acme', models: 2_000, dropped: 3_001 })
})

describe('the plugin', () => {
  afterEach(() => void vi.useRealTimers())

  test('asks nobody when it is off', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const fetch = vi.fn(async () => listed('one'))
    const providers = createStandInProviders({
      entries: { acme: entry('https://acme.test/v1') },
      variables: { ACME_API_KEY: 'k' },
      fetch,
    })
    const opened = await openPlugin(plugin, { ports: [[PROVIDERS, providers]], config: { automatic: false } })
    opened.activate()
    await vi.advanceTimersByTimeAsync(60 * MINUTE)
    await opened.close()
    expect(fetch).not.toHaveBeenCalled()
  })

  test('starts with becoming current and stops with being closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    let asked = 0
    const providers = createStandInProviders({
      entries: { acme: entry('https://acme.test/v1') },
      variables: { ACME_API_KEY: 'k' },
      fetch: async () => {
        asked += 1
        return listed('one')
      },
    })
    const opened = await openPlugin(plugin, { ports: [[PROVIDERS, providers]] })
    await vi.advanceTimersByTimeAsync(MINUTE)
    expect(asked).toBe(0)
    opened.activate()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(providers.models().map(({ id, isLearned }) => [id, isLearned])).toEqual([['one', true]])
    await vi.advanceTimersByTimeAsync(6 * MINUTE)
    expect(asked).toBe(2)
    await opened.close()
    await vi.advanceTimersByTimeAsync(60 * MINUTE)
    expect([asked, vi.getTimerCount()]).toEqual([2, 0])
  })
})
