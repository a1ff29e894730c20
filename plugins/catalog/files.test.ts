import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadCatalog } from './load.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runwright-catalog-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function write(file: string, content: unknown): Promise<string> {
  const path = join(folder, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const load = (config: Partial<Parameters<typeof loadCatalog>[0]>) =>
  loadCatalog({ catalog_path: '', pricing_path: '', providers: {}, referer: '', title: '', ...config })

const model = { context_window: 1000 }
const acme = {
  base_url: 'https://acme.example/v1',
  api_key_env: 'ACME_API_KEY',
  protocol: 'openai_compat',
  models: { 'acme-1': model },
}

test('a catalog of the deployment’s own stands in place of what ships: as one file, or as a folder', async () => {
  const one = await write('one.json', { catalog_version: '9', providers: { acme } })
  expect(await load({ catalog_path: one })).toEqual({ version: '9', providers: { acme } })
  await write('many/catalog.json', { catalog_version: '10', providers: { acme } })
  await write('many/providers/bolt.json', { ...acme, models_from: 'acme', models: undefined })
  await write('many/providers/notes.txt', 'not a provider')
  const many = await load({ catalog_path: join(folder, 'many') })
  expect([many.version, Object.keys(many.providers)]).toEqual(['10', ['acme', 'bolt']])
})

const withAcme = (change: object, more: object = {}) => ({
  catalog_version: '1',
  providers: { acme: { ...acme, ...change }, ...more },
})

test.each<[string, unknown, RegExp]>([
  ['no version', { providers: { acme } }, /catalog_version: it must be text/],
  ['no provider', { catalog_version: '1', providers: {} }, /providers: it names no provider/],
  ['providers as a list', { catalog_version: '1', providers: [] }, /providers: it must be an object/],
  ['a name that is none', { catalog_version: '1', providers: { 'a b': acme } }, /"a b" cannot be a provider's name/],
  ['a reserved name', { catalog_version: '1', providers: { default: acme } }, /"default" cannot be/],
  ['the name of the fake provider', { catalog_version: '1', providers: { fake: acme } }, /"fake" cannot be/],
  ['no base_url', withAcme({ base_url: undefined }), /providers\.acme\.base_url: /],
  ['a base_url of another scheme', withAcme({ base_url: 'ftp://x' }), /providers\.acme\.base_url: .*http/],
  ['a password in base_url', withAcme({ base_url: 'https://u:p@x.example' }), /base_url: .*password/],
  ['no api_key_env', withAcme({ api_key_env: undefined }), /providers\.acme\.api_key_env: .*api_key_optional/],
  ['no models', withAcme({ models: {} }), /providers\.acme\.models: there must be one/],
  ['no models at all', withAcme({ models: undefined }), /providers\.acme\.models: there must be one/],
  ['a window of 0', withAcme({ models: { m: { context_window: 0 } } }), /acme\.models\.m\.context_window: .*1/],
  ['a window below 0', withAcme({ models: { m: { context_window: -1 } } }), /models\.m\.context_window: /],
  [
    'models from nobody',
    withAcme({ models_from: 'nobody' }),
    /acme\.models_from: it names a provider that is not there/,
  ],
  [
    'models from each other',
    withAcme({ models_from: 'bolt' }, { bolt: { ...acme, models_from: 'acme' } }),
    /acme\.models_from: .*circle.*bolt\.models_from: /,
  ],
  ['an alias to nothing', withAcme({ aliases: { a: 'b' } }), /acme\.aliases\.a: it leads to no model/],
  ['aliases in a circle', withAcme({ aliases: { a: 'b', b: 'a' } }), /acme\.aliases\.a: /],
  [
    'a word that is none of the list',
    withAcme({ models: { m: { ...model, speed_tier: 'warp' } } }),
    /models\.m\.speed_tier: it must be one of "ultra-fast", "fast", "medium", "slow"/,
  ],
  [
    'another api',
    withAcme({ models: { m: { ...model, api: 'grpc' } } }),
    /models\.m\.api: it must be one of "", "resp/,
  ],
  ['an unknown field', withAcme({ colour: 'red' }), /providers\.acme\.colour: there is no such field/],
  [
    'an unknown field of a model',
    withAcme({ models: { m: { ...model, contxt: 1 } } }),
    /models\.m\.contxt: there is no/,
  ],
  [
    'a price below 0',
    withAcme({ models: { m: { ...model, pricing: { input_per_1m_tokens_usd: -1, output_per_1m_tokens_usd: 1 } } } }),
    /pricing\.input_per_1m_tokens_usd: /,
  ],
  [
    'half a price',
    withAcme({ models: { m: { ...model, pricing: { input_per_1m_tokens_usd: 1 } } } }),
    /pricing\.output_per_1m_tokens_usd: /,
  ],
  ['text that is not JSON', '{"catalog_version": ', /it is not JSON/],
  ['a list', [], /it must hold one JSON object/],
])('a catalog with %s is refused by file and field', async (_, content, why) => {
  const file = await write('wrong.json', content)
  const refusal = load({ catalog_path: file })
  await expect(refusal).rejects.toThrow(why)
  await expect(refusal).rejects.toThrow(file)
})

test('several mistakes are told at once, and no value of the file is', async () => {
  const file = await write(
    'secret.json',
    withAcme({ base_url: 1, colour: 'hunter2' }, { bolt: { protocol: 'hunter2' } }),
  )
  const message = await load({ catalog_path: file }).catch(({ message }: Error) => message)
  expect(message).toMatch(/acme\.colour: .*acme\.base_url: .*bolt\.base_url: /)
  expect(message).not.toContain('hunter2')
})

test('a mistake in what a deployment lays over the catalog names the section of its file', async () => {
  await expect(load({ providers: { acme: { base_url: 'https://x.example' } } })).rejects.toThrow(
    /\[plugins\.catalog\.providers\.acme\]: protocol: /,
  )
  await expect(load({ providers: { acme: 5 } })).rejects.toThrow(/\[plugins\.catalog\.providers\.acme\]: /)
  await expect(load({ providers: { openai: { models: { 'gpt-4.1': { context_window: 0 } } } } })).rejects.toThrow(
    /openai\.json with \[plugins\.catalog\.providers\.openai\]: models\.gpt-4\.1\.context_window: /,
  )
  await expect(load({ providers: { kimi: { enabled: false } } })).rejects.toThrow(
    /kimi-subscription\.json: models_from/,
  )
})

test.each(['missing.json', '.'])('a catalog at %s is refused with its path', async path => {
  const catalog_path = join(folder, path)
  await expect(load({ catalog_path })).rejects.toThrow(catalog_path)
})

test('a price list prices models of the catalog and others, by every name it has for them', async () => {
  const pricing = { input_per_1m_tokens_usd: 1, output_per_1m_tokens_usd: 2, cache_read_per_1m_tokens_usd: 0.1 }
  const list = { providers: { openai: { aliases: { latest: 'house-1' }, models: { 'house-1': pricing } } } }
  const versioned = await write('prices.json', { pricing_version: '2026-q4', ...list })
  expect((await load({ pricing_path: versioned })).prices).toEqual({
    version: '2026-q4',
    models: { openai: { latest: pricing, 'house-1': pricing } },
  })
  const plain = await load({ pricing_path: await write('plain.json', list) })
  expect(plain.prices?.version).toBe(plain.version)
})

test.each<[unknown, RegExp]>([
  [{ providers: { openai: { models: { m: { input_per_1m_tokens_usd: 1 } } } } }, /openai\.models\.m\.output_per_1m/],
  [{ providers: { openai: { aliases: { a: 'b' }, models: {} } } }, /providers\.openai\.aliases\.a: .*no priced model/],
  [{ prices: {} }, /prices\.json: /],
])('a wrong price list is refused by file and field', async (content, why) => {
  await expect(load({ pricing_path: await write('prices.json', content) })).rejects.toThrow(why)
})
