import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ListedModel, ListedModels } from '#contracts/model/providers'
import { type Reply, SettingsBench } from '#test/model-settings/settings-bench'
import { plugin } from './index.js'

let bench: SettingsBench
beforeEach(async () => {
  bench = await SettingsBench.make(plugin)
})
afterEach(() => bench.dispose())

const ACME = { name: 'acme', base_url: 'https://192.0.2.10/v1' }
const listed = (...models: readonly (string | ListedModel)[]): ListedModels => ({
  kind: 'listed',
  models: models.map(model => (typeof model === 'string' ? { id: model } : model)),
})
const failed = (message: string): ListedModels => ({ kind: 'failed', failure: { category: 'retryable', message } })
const errorOf = ({ status, body }: Reply) => [status, body.error?.code, body.error?.message]

describe('fetching', () => {
  test('learns what a provider lists, counts it, and keeps it over a restart', async () => {
    const models = listed('one', {
      id: 'two',
      displayName: 'Two',
      contextWindow: 4096,
      inputPerMillionUsd: 1,
      outputPerMillionUsd: 3,
      modalities: ['text'],
    })
    const before = await bench.open({ fetch: async () => models })
    await before.save({ ...ACME, api_key: 'k' })
    expect(await before.act('acme', 'fetch')).toMatchObject({ status: 200, body: { ok: true, model_count: 2 } })
    const row = await before.row('acme')
    expect(row).toMatchObject({
      model_count: 2,
      exposed_count: 2,
      fetched_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      models: [
        { id: 'one', exposed: true },
        {
          id: 'two',
          display_name: 'Two',
          context_window: 4096,
          input_per_1m_tokens_usd: 1,
          output_per_1m_tokens_usd: 3,
          cost_source: 'provider',
          modalities: ['text'],
          exposed: true,
        },
      ],
    })
    expect(before.providers.find('acme')?.entry.lists_models).toBe(true)
    await before.close()
    const after = await bench.open({ records: before.records })
    expect(await after.row('acme')).toEqual(row)
  })

  test('a list that is newer than the kept one is not put back', async () => {
    const before = await bench.open({ fetch: async () => listed('old') })
    await before.save(ACME)
    await before.act('acme', 'fetch')
    before.providers.learn('acme', [{ id: 'new' }])
    await before.act('openai', 'cost', { model: 'big', input: 1, output: 1 })
    expect(before.providers.modelsOf('acme').map(({ id }) => id)).toEqual(['new'])
  })

  test('a failure is 502 with its reason, is shown, and leaves the list before', async () => {
    const answers = [listed('one'), failed('acme.test answered 503'), listed('two')]
    const { save, act, row } = await bench.open({ fetch: async () => answers.shift() ?? failed('enough') })
    await save(ACME)
    await act('acme', 'fetch')
    const { fetched_at: at } = await row('acme')
    expect(errorOf(await act('acme', 'fetch'))).toEqual([
      502,
      'fetch_failed',
      'the models of acme could not be fetched: acme.test answered 503',
    ])
    expect(await row('acme')).toMatchObject({ fetched_at: at, fetch_error: 'acme.test answered 503', model_count: 1 })
    await act('acme', 'fetch')
    const last = await row('acme')
    expect([last.fetch_error, last.models]).toEqual([undefined, [{ id: 'two', exposed: true }]])
  })

  test('one that never worked shows its error and no time', async () => {
    const { act, row } = await bench.open({ fetch: async () => failed('no key') })
    expect((await act('openai', 'fetch')).status).toBe(502)
    const { fetched_at, fetch_error } = await row('openai')
    expect([fetched_at, fetch_error]).toEqual([undefined, 'no key'])
  })

  test('a provider that does not answer is given up after 30 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      let asked = false
      const { act } = await bench.open({
        fetch: (_, signal) => {
          asked = true
          return new Promise(resolve => signal.addEventListener('abort', () => resolve(failed('cancelled'))))
        },
      })
      const reply = act('openai', 'fetch')
      while (!asked) await new Promise(resolve => setImmediate(resolve))
      await vi.advanceTimersByTimeAsync(29_990)
      expect(await Promise.race([reply, 'waiting'])).toBe('waiting')
      await vi.advanceTimersByTimeAsync(20)
      expect(errorOf(await reply)).toEqual([
        502,
        'fetch_failed',
        expect.stringContaining('no answer within 30 seconds'),
      ])
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('a second fetch of the same provider meanwhile is refused', async () => {
    let answer = (_: ListedModels): void => undefined
    let asked = (): void => undefined
    const isAsked = new Promise<void>(resolve => {
      asked = resolve
    })
    const { act } = await bench.open({
      fetch: () =>
        new Promise(resolve => {
          answer = resolve
          asked()
        }),
    })
    const first = act('openai', 'fetch')
    await isAsked
    const second = await act('openai', 'fetch')
    expect(errorOf(second)).toEqual([409, 'conflict', 'the models of openai are being fetched already'])
    answer(listed('one'))
    expect((await first).status).toBe(200)
  })

  test('a list of an address that is no longer the provider’s is thrown away', async () => {
    let answer = (_: ListedModels): void => undefined
    let asked = (): void => undefined
    const isAsked = new Promise<void>(resolve => {
      asked = resolve
    })
    const { act, save, row } = await bench.open({
      fetch: () =>
        new Promise(resolve => {
          answer = resolve
          asked()
        }),
    })
    await save(ACME)
    const fetching = act('acme', 'fetch')
    await isAsked
    await save({ ...ACME, base_url: 'https://192.0.2.20/v1' })
    answer(listed('one'))
    expect((await fetching).status).toBe(409)
    expect(await row('acme')).toMatchObject({ model_count: 0 })
  })

  test('a changed address begins without a list', async () => {
    const { act, save, records, row } = await bench.open({ fetch: async () => listed('one') })
    await save(ACME)
    await act('acme', 'fetch')
    await save({ ...ACME, base_url: 'https://192.0.2.20/v1' })
    expect((await row('acme')).fetched_at).toBeUndefined()
    const after = await bench.open({ records })
    expect(await after.row('acme')).toMatchObject({ model_count: 0 })
  })

  test('a huge list is cut', async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => `m${index}`)
    const { act } = await bench.open({ fetch: async () => listed('x'.repeat(300), ...many) })
    expect((await act('openai', 'fetch')).body).toEqual({ ok: true, model_count: 1_000 })
  })

  test.each(['nope', 'fake', '__proto__', 'constructor'])('%s is no provider here', async name => {
    const { act } = await bench.open()
    for (const [action, body] of [
      ['fetch', undefined],
      ['expose', { exposed: true }],
      ['cost', { model: 'm', input: 1, output: 1 }],
    ] as const)
      expect((await act(name, action, body)).status, action).toBe(404)
  })
})

describe('exposure', () => {
  const shown = async (open: Awaited<ReturnType<SettingsBench['open']>>) => open.providers.models().map(({ id }) => id)

  test('a provider that is hidden is out of the lists until it is shown again; nothing else changes', async () => {
    const open = await bench.open()
    expect(await open.act('openai', 'expose', { exposed: false })).toMatchObject({ status: 200, body: { ok: true } })
    expect([await shown(open), (await open.row('openai')).exposed_count]).toEqual([['sol'], 0])
    await open.act('openai', 'expose', { exposed: true })
    expect(await shown(open)).toEqual(['sol', 'big', 'small'])
  })

  test('once single models are chosen, the list is exactly these and the providers that are shown whole', async () => {
    const open = await bench.open()
    await open.act('openai', 'expose', { exposed: { small: true } })
    expect(await shown(open)).toEqual(['small'])
    await open.act('codex-subscription', 'expose', { exposed: true })
    expect(await shown(open)).toEqual(['sol', 'small'])
    await open.act('openai', 'expose', { exposed: { small: false, big: true } })
    expect(await shown(open)).toEqual(['sol', 'big'])
    await open.act('openai', 'expose', { exposed: { big: false } })
    expect(await shown(open)).toEqual(['sol'])
  })

  test('hiding single models hides no others, also none that are learned later', async () => {
    const open = await bench.open()
    await open.act('openai', 'expose', { exposed: { big: false } })
    open.providers.learn('openai', [{ id: 'later' }])
    expect(await shown(open)).toEqual(['sol', 'later', 'small'])
  })

  test('what is said of the whole provider takes the place of what was said of its models', async () => {
    const open = await bench.open()
    await open.act('openai', 'expose', { exposed: { big: true } })
    await open.act('openai', 'expose', { exposed: false })
    expect(await shown(open)).toEqual(['sol'])
  })

  test('routing is not affected', async () => {
    const open = await bench.open({ variables: { OPENAI_API_KEY: 'k' } })
    await open.act('openai', 'expose', { exposed: false })
    expect(open.providers.resolve({ model: 'big' }).candidates[0]?.provider).toBe('openai')
  })

  test.each([
    ['openai', {}, 'exposed'],
    ['openai', { exposed: 'yes' }, 'exposed'],
    ['openai', { exposed: { big: 'yes' } }, 'exposed'],
    ['openai', { exposed: { huge: true } }, 'the provider has no model "huge"'],
    ['ollama', { exposed: true }, 'no models of ollama are known; fetch them first'],
    ['ollama', { exposed: { x: true } }, 'fetch them first'],
  ])('%s with %j is refused', async (name, body, why) => {
    const { act } = await bench.open()
    expect(errorOf(await act(name, 'expose', body))).toEqual([400, 'invalid_request', expect.stringContaining(why)])
  })
})

describe('prices', () => {
  test.each([
    [{ input: 3, output: 9.5 }],
    [{ input_per_1m_tokens_usd: 3, output_per_1m_tokens_usd: 9.5 }],
    [{ input: 3, output: 9.5, output_per_1m_tokens_usd: 9.5 }],
  ])('%j sets the price, and a fetch does not take it back', async price => {
    const list = listed({ id: 'big', inputPerMillionUsd: 100, outputPerMillionUsd: 100 })
    const { act, row } = await bench.open({ fetch: async () => list })
    expect(await act('openai', 'cost', { model: 'big', ...price })).toMatchObject({ status: 200, body: { ok: true } })
    const wanted = { id: 'big', input_per_1m_tokens_usd: 3, output_per_1m_tokens_usd: 9.5, cost_source: 'user' }
    expect((await row('openai')).models[0]).toMatchObject(wanted)
    await act('openai', 'fetch')
    expect((await row('openai')).models[0]).toMatchObject(wanted)
  })

  test('nothing is a price too', async () => {
    const { act, providers } = await bench.open()
    await act('openai', 'cost', { model: 'small', input: 0, output: 0 })
    expect(providers.modelsOf('openai')[1]).toMatchObject({
      priceSource: 'user',
      entry: { pricing: { input_per_1m_tokens_usd: 0, output_per_1m_tokens_usd: 0 } },
    })
  })

  test.each([
    [{ model: 'big', input: -1, output: 1 }, 'input'],
    [{ model: 'big', input: 1, output: -0.1 }, 'output'],
    [{ model: 'big', input: 1 }, 'output is missing'],
    [{ model: 'big', output: 1 }, 'input is missing'],
    [{ model: 'big', input: '1', output: 1 }, 'input'],
    [{ model: 'big', input: 1e9, output: 1 }, 'input'],
    [
      { model: 'big', input: 1, output: 2, output_per_1m_tokens_usd: 3 },
      'output: output_per_1m_tokens_usd says another',
    ],
    [{ input: 1, output: 1 }, 'model'],
    [{ model: 'huge', input: 1, output: 1 }, 'model: the provider has no model "huge"'],
    [{ model: 'toString', input: 1, output: 1 }, 'model'],
    [{ model: 'large', input: 1, output: 1 }, 'model'],
  ])('%j is refused for its %s', async (body, why) => {
    const { act, providers } = await bench.open()
    expect(errorOf(await act('openai', 'cost', body))).toEqual([400, 'invalid_request', expect.stringContaining(why)])
    expect(providers.modelsOf('openai').map(({ priceSource }) => priceSource)).toEqual(['catalog', undefined])
  })
})
