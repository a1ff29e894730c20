import { afterEach, expect, test } from 'vitest'
import type { ModelView } from '#contracts/model/providers'
import { type OpenProviders, openProviders, smallEntry } from '#test/kit/open-providers'
import { plugin } from './index.js'

let opened: OpenProviders | undefined
afterEach(async () => {
  await opened?.close()
  opened = undefined
})

const price = (input: number, output: number) => ({ input_per_1m_tokens_usd: input, output_per_1m_tokens_usd: output })
const acme = smallEntry('acme', {
  models: {
    'acme-1': { context_window: 1000, display_name: 'Acme One', modalities: ['text'], pricing: price(1, 2) },
    'acme-2': { context_window: 2000 },
  },
  aliases: { one: 'uno', uno: 'acme-1', nothing: 'nowhere', 'acme-2': 'acme-1' },
})
const open = async (more: object = {}) => {
  opened = await openProviders(plugin, { entries: { acme }, variables: { ACME_API_KEY: 'k' }, ...more })
  return opened
}
const candidateOf = ({ providers }: OpenProviders, model: string) =>
  providers.resolve({ model, provider_name: 'acme' }).candidates[0]!

const short = ({ id, aliases, isLearned, priceSource, entry }: ModelView) => [
  id,
  aliases,
  isLearned,
  priceSource,
  entry.context_window,
  entry.pricing && [entry.pricing.input_per_1m_tokens_usd, entry.pricing.output_per_1m_tokens_usd],
]

test('models are listed with every name that leads to them', async () => {
  const { providers } = await open()
  expect(providers.models().map(short)).toEqual([
    ['acme-1', ['one', 'uno'], false, 'catalog', 1000, [1, 2]],
    ['acme-2', [], false, undefined, 2000, undefined],
  ])
})

test('what a provider lists fills gaps and adds models; what the catalog states stays; the newest list counts', async () => {
  const { providers } = await open()
  providers.learn('acme', [
    {
      id: 'acme-1',
      displayName: 'Other',
      contextWindow: 5,
      modalities: ['text', 'image'],
      inputPerMillionUsd: 9,
      outputPerMillionUsd: 9,
    },
    { id: 'acme-2', displayName: 'Acme Two', contextWindow: 5, inputPerMillionUsd: 3, outputPerMillionUsd: 4 },
    { id: 'acme-3', contextWindow: 3000, inputPerMillionUsd: 5 },
  ])
  expect(providers.modelsOf('acme').map(short)).toEqual([
    ['acme-1', ['one', 'uno'], false, 'catalog', 1000, [1, 2]],
    ['acme-2', [], false, 'provider', 2000, [3, 4]],
    ['acme-3', [], true, undefined, 3000, undefined],
  ])
  expect(providers.modelsOf('acme').map(({ entry }) => [entry.display_name, entry.modalities])).toEqual([
    ['Acme One', ['text']],
    ['Acme Two', undefined],
    [undefined, undefined],
  ])
  providers.learn('acme', [{ id: 'acme-4' }])
  expect(providers.modelsOf('acme').map(({ id }) => id)).toEqual(['acme-1', 'acme-2', 'acme-4'])
  providers.learn('nobody', [{ id: 'x' }])
  expect(providers.modelsOf('nobody')).toEqual([])
})

test('what was listed elsewhere is not known of another address', async () => {
  const { providers } = await open()
  providers.learn('acme', [{ id: 'acme-3' }])
  const undo = providers.overlay({ providers: { acme: { ...acme, base_url: 'https://elsewhere.example' } } })
  expect(providers.modelsOf('acme').map(({ id }) => id)).toEqual(['acme-1', 'acme-2'])
  await undo()
  expect(providers.modelsOf('acme').map(({ id }) => id)).toEqual(['acme-1', 'acme-2', 'acme-3'])
})

test('a person’s price wins, then a price list’s, then the catalog’s, then the provider’s own', async () => {
  const live = await open({
    catalogs: [
      { version: '1', providers: { acme } },
      {
        version: '2',
        providers: {},
        prices: { version: 'list-7', models: { acme: { 'acme-1': price(10, 20), unknown: price(30, 40) } } },
      },
    ],
  })
  const rateOf = (model: string) => {
    const { rates } = candidateOf(live, model)
    return rates && [rates.version, rates.inputPerMillionUsd, rates.outputPerMillionUsd]
  }
  live.providers.learn('acme', [{ id: 'acme-2', inputPerMillionUsd: 3, outputPerMillionUsd: 4 }])
  expect(['acme-1', 'unknown', 'acme-2', 'nothing-at-all'].map(rateOf)).toEqual([
    ['list-7', 10, 20],
    ['list-7', 30, 40],
    ['provider', 3, 4],
    undefined,
  ])
  const undo = live.providers.overlay({ prices: { acme: { 'acme-1': { input: 0.5, output: 0 } } } })
  expect(rateOf('acme-1')).toEqual(['user', 0.5, 0])
  await undo()
  expect(rateOf('acme-1')).toEqual(['list-7', 10, 20])
})

test('a candidate says what is known of its model, and nothing of one nobody knows', async () => {
  const cached = { ...price(3, 15), cache_read_per_1m_tokens_usd: 0.3, cache_write_per_1m_tokens_usd: 3.75 }
  const full = { context_window: 10, max_output_tokens: 5, modalities: ['text', 'image'], pricing: cached }
  const live = await open({ entries: { acme: smallEntry('acme', { models: { full } }) } })
  const { client: _, ...known } = candidateOf(live, 'full')
  expect(known).toEqual({
    provider: 'acme',
    model: 'full',
    contextWindow: 10,
    maxOutputTokens: 5,
    modalities: ['text', 'image'],
    rates: {
      inputPerMillionUsd: 3,
      outputPerMillionUsd: 15,
      cacheReadPerMillionUsd: 0.3,
      cacheWritePerMillionUsd: 3.75,
      version: '1',
    },
  })
  const { client: __, ...unknown } = candidateOf(live, 'brand-new')
  expect(unknown).toEqual({ provider: 'acme', model: 'brand-new' })
})

test('lists show what every overlay lets them show; routing and modelsOf do not care', async () => {
  const live = await open()
  live.providers.learn('acme', [{ id: 'acme-3' }])
  const undo = live.providers.overlay({ isExposed: (_, model) => model !== 'acme-1' })
  live.providers.overlay({ isExposed: (_, model) => model !== 'acme-2' })
  expect(live.providers.models().map(({ id }) => id)).toEqual(['acme-3'])
  expect(live.providers.modelsOf('acme')).toHaveLength(3)
  expect(live.try({ model: 'acme-1' })).toEqual(['acme acme-1'])
  await undo()
  expect(live.providers.models().map(({ id }) => id)).toEqual(['acme-1', 'acme-3'])
})

test('a hidden provider is found by its name and by nothing else', async () => {
  const hidden = smallEntry('hidden', {
    is_hidden: true,
    models: { secret: { context_window: 1 } },
    api_key_optional: true,
  })
  const live = await open({ entries: { acme, hidden } })
  expect([
    live.providers.list().map(({ name }) => name),
    live.providers.models().some(({ id }) => id === 'secret'),
  ]).toEqual([['acme'], false])
  expect(live.try({ model: 'secret' })).toMatch(/no provider here is known to have "secret"/)
  expect(live.try({ model: 'any', provider_name: 'hidden' })).toEqual(['hidden any'])
})

test('of two catalogs the higher rank wins, then the first; models come from where the winner says', async () => {
  const logged: object[] = []
  const bolt = (model: string) => smallEntry('bolt', { models: { [model]: { context_window: 1 } } })
  const heir = smallEntry('heir', { models_from: 'bolt', models: {} })
  const live = await open({
    config: { model: 'acme-1' },
    catalogs: [
      { version: 'a', providers: { bolt: bolt('low'), acme } },
      { version: 'b', providers: { bolt: bolt('high'), heir }, rank: 1 },
      { version: 'c', providers: { acme: smallEntry('acme') } },
    ],
    log: { debug: () => 0, info: () => 0, error: () => 0, warn: (facts: object) => logged.push(facts) },
  })
  const idsOf = (name: string) => live.providers.modelsOf(name).map(({ id }) => id)
  expect([idsOf('bolt'), idsOf('heir'), idsOf('acme')]).toEqual([['high'], ['high'], ['acme-1', 'acme-2']])
  expect(logged).toMatchObject([{ provider: 'acme', why: expect.stringContaining('same rank') }])
})

test('an entry that is none is left out and said so; the rest works', async () => {
  const logged: object[] = []
  const broken = {
    none: null,
    nothing: {},
    text: 'x',
    list: { ...smallEntry('list'), models: null },
    default: smallEntry('default'),
  }
  const live = await open({
    config: { model: 'acme-1' },
    catalogs: [{ version: '1', providers: { ...broken, acme } as never }],
    log: { debug: () => 0, info: () => 0, error: () => 0, warn: (facts: object) => logged.push(facts) },
  })
  expect(live.providers.list().map(({ name }) => name)).toEqual(['acme'])
  expect(logged.map(facts => (facts as { provider: string }).provider)).toEqual([
    'none',
    'nothing',
    'text',
    'list',
    'default',
  ])
})
