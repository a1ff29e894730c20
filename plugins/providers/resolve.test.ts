import { afterEach, expect, test } from 'vitest'
import type { ProviderEntry } from '#contracts/model/provider'
import { askOnce, type OpenProviders, openProviders, smallEntry } from '#test/kit/open-providers'
import { plugin } from './index.js'

const models = (...ids: string[]) => Object.fromEntries(ids.map(id => [id, { context_window: 1000 }]))

const ENTRIES: Readonly<Record<string, ProviderEntry>> = {
  anthropic: smallEntry('anthropic', { models: models('opus-5'), aliases: { opus: 'newest', newest: 'opus-5' } }),
  groq: smallEntry('groq', { models: models('llama-70b') }),
  ollama: smallEntry('ollama', {
    base_url: 'http://localhost:11434/v1',
    api_key_optional: true,
    models: models('llama'),
  }),
  openai: smallEntry('openai', {
    base_url: 'https://api.openai.com/v1',
    base_url_env: 'OPENAI_BASE_URL',
    models: models('gpt-mini', 'gpt'),
    aliases: { loop: 'pool', pool: 'loop' },
  }),
  openrouter: smallEntry('openrouter', { is_aggregator: true, models: models('openai/gpt-mini', 'vendor/vision') }),
  session: smallEntry('session', { token_source_required: true, models: models('opus-5', 'code-1') }),
  together: smallEntry('together', { models: models('meta/llama-4') }),
}

let opened: OpenProviders | undefined
afterEach(async () => {
  await opened?.close()
  opened = undefined
})

/** Opens with keys for these providers; the default model is `gpt-mini`. */
async function withKeys(names: string, config: object = {}, variables: Readonly<Record<string, string>> = {}) {
  const keys = names.split(' ').map(name => [`${name.toUpperCase()}_API_KEY`, `key of ${name}`])
  opened = await openProviders(plugin, {
    entries: ENTRIES,
    config: { model: 'gpt-mini', ...config },
    variables: { ...Object.fromEntries(keys), ...variables },
  })
  return opened
}

test('a run goes where its model is, under the id an alias leads to', async () => {
  const { try: ask } = await withKeys('openai anthropic together')
  expect(ask({})).toEqual(['openai gpt-mini'])
  expect(ask({ model: 'gpt' })).toEqual(['openai gpt'])
  expect(ask({ model: 'opus' })).toEqual(['anthropic opus-5'])
  expect(ask({ model: 'meta/llama-4' })).toEqual(['together meta/llama-4'])
  expect(ask({ model: 'llama' })).toEqual(['ollama llama'])
})

test('a missing key is named with its variable, and a session with its import', async () => {
  const { try: ask } = await withKeys('openai')
  expect(ask({ model: 'opus' })).toBe(
    'model "opus": provider anthropic cannot be asked: set ANTHROPIC_API_KEY, or PUT /v1/providers/anthropic/key',
  )
  expect(ask({ model: 'code-1' })).toMatch(
    /session cannot be asked: .*POST \/v1\/providers\/session\/import-subscription/,
  )
})

test('an id with a slash is the aggregator’s, with or without a key, unless somebody else is asked by name', async () => {
  const { try: ask } = await withKeys('openai')
  expect(ask({ model: 'acme/thing' })).toMatch(
    /"acme\/thing" \(ids with a \/ are openrouter's, unless provider_name .*openrouter cannot be asked: set OPENROUTER_API_KEY/,
  )
  expect(ask({ model: 'meta/llama-4' })).toMatch(/OPENROUTER_API_KEY/)
  expect(ask({ model: 'acme/thing', provider_name: 'openai' })).toEqual(['openai acme/thing'])
})

test('a provider that is asked by name gets the id it knows', async () => {
  const { try: ask } = await withKeys('openai anthropic groq openrouter')
  expect(ask({ model: 'opus', provider_name: 'anthropic' })).toEqual(['anthropic opus-5'])
  expect(ask({ model: 'anthropic/opus', provider_name: 'anthropic' })).toEqual(['anthropic opus-5'])
  expect(ask({ model: 'meta-llama/llama-70b', provider_name: 'groq' })).toEqual(['groq llama-70b'])
  expect(ask({ model: 'meta-llama/new', provider_name: 'groq' })).toEqual(['groq new'])
  expect(ask({ model: 'x-ai/grok', provider_name: 'groq' })).toEqual(['groq x-ai/grok'])
  expect(ask({ model: 'openrouter/opus', provider_name: 'openrouter' })).toEqual(['openrouter openrouter/opus'])
  expect(ask({ model: 'never-heard-of', provider_name: 'openai' })).toEqual(['openai never-heard-of'])
  expect(ask({ provider_name: 'openai' })).toEqual(['openai gpt-mini'])
  expect(ask({ provider_name: 'openrouter' })).toEqual(['openrouter openai/gpt-mini'])
  expect(ask({ provider_name: 'anthropic' })).toMatch(
    /anthropic is not known to have the default model gpt-mini.*opus-5/,
  )
  expect(ask({ provider_name: 'default', model: 'gpt' })).toEqual(['openai gpt'])
})

test('what nobody knows is refused with what it may have meant, and so are providers', async () => {
  const { try: ask } = await withKeys('openai')
  expect(ask({ model: 'gtp-mini' })).toBe(
    'model: no provider here is known to have "gtp-mini". Did you mean gpt-mini (openai)? "runwright models" (GET /v1/models) ' +
      'lists what is known; to send it all the same, name its provider in provider_name.',
  )
  expect(ask({ model: 'loop' })).toMatch(/no provider here is known to have "loop"/)
  expect(ask({ model: 'constructor' })).toMatch(/known to have "constructor"/)
  expect(ask({ provider_name: 'opnai' })).toMatch(
    /provider_name: there is no provider "opnai"; there are anthropic, groq/,
  )
  expect(String(ask({ model: 'x'.repeat(100_000) })).length).toBeLessThan(400)
})

test('what nobody knows is refused as such, and while no provider is set up that is said too', async () => {
  const resolve = async (variables: Readonly<Record<string, string>>) => {
    await opened?.close()
    const anthropic = { ...ENTRIES.anthropic!, base_url_env: 'ANTHROPIC_BASE_URL' }
    opened = await openProviders(plugin, {
      entries: { ...ENTRIES, anthropic },
      config: { model: 'gpt-mini' },
      variables,
    })
    return opened.hooks.providerResolving
      .promise({ model: 'nobody-has-it' } as never, {} as never)
      .catch(({ message }: Error) => message)
  }
  const refusal = /^(?=.*no provider here is known to have "nobody-has-it")(?!.*No provider is configured)/
  // Keyless local servers of the catalog may or may not be there.
  expect(await resolve({})).toMatch(/"nobody-has-it".*No provider is configured yet: "runwright providers"/)
  expect(await resolve({ ANTHROPIC_API_KEY: 'k' })).toMatch(refusal)
  expect(await resolve({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9/v1' })).toMatch(refusal)
  expect(await resolve({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:9/v1' })).toMatch(refusal)
})

test('a run that allows fallback is given others, in its own order, each under an id it knows', async () => {
  const { try: ask } = await withKeys('openai anthropic groq openrouter')
  expect(ask({ model: 'opus', allow_fallback: true })).toEqual(['anthropic opus-5', 'default gpt-mini'])
  expect(
    ask({
      model: 'gpt-mini',
      allow_fallback: true,
      fallback_providers: ['openrouter', 'nobody', 'openai', 'session', 'groq', 'openrouter', '', 'ollama'],
    }),
  ).toEqual(['openai gpt-mini', 'openrouter openai/gpt-mini', 'ollama gpt-mini'])
  expect(ask({ model: 'opus', allow_fallback: true, fallback_providers: ['openai'] })).toEqual([
    'anthropic opus-5',
    'openai gpt-mini',
  ])
  expect(ask({ model: 'opus', fallback_providers: ['openai'] })).toEqual(['anthropic opus-5'])
  expect(ask({ allow_fallback: true })).toEqual(['openai gpt-mini'])
})

test('a wish that cannot be had is answered by somebody else where that is allowed, and the run is told', async () => {
  const { providers } = await withKeys('openai groq')
  const ask = (wish: object) => {
    const { candidates, warning } = providers.resolve({ allow_fallback: true, ...wish })
    return [
      candidates.map(({ provider, model }) => `${provider} ${model}`),
      warning?.from,
      warning?.to,
      warning?.reason,
    ]
  }
  expect(ask({ model: 'opus' })).toEqual([
    ['default gpt-mini'],
    'anthropic',
    'default',
    expect.stringContaining('ANTHROPIC_API_KEY'),
  ])
  expect(ask({ model: 'unheard-of' })).toEqual([['default gpt-mini'], undefined, 'default', expect.any(String)])
  // The model is looked for elsewhere first when only its provider was at fault.
  expect(ask({ model: 'llama-70b', provider_name: 'anthropic' })).toEqual([
    ['groq llama-70b', 'default gpt-mini'],
    'anthropic',
    'groq',
    expect.any(String),
  ])
  expect(ask({ model: 'gpt', provider_name: 'nobody' })[0]).toEqual(['openai gpt'])
  expect(ask({ model: 'gpt' })).toEqual([['openai gpt'], undefined, undefined, undefined])
})

test('without anything to fall back to the refusal is that of the wish', async () => {
  const { try: ask } = await withKeys('groq', { model: 'opus' })
  expect(ask({ model: 'gpt', allow_fallback: true })).toMatch(/openai cannot be asked: set OPENAI_API_KEY/)
})

test('the default model decides who answers by default', async () => {
  expect((await withKeys('anthropic', { model: 'opus' })).try({})).toEqual(['anthropic opus-5'])
  await opened?.close()
  expect((await withKeys('openai', { model: 'brand-new' })).try({})).toEqual(['openai brand-new'])
  await opened?.close()
  expect((await withKeys('groq', { model: 'brand-new' })).try({})).toMatch(
    /^no provider here .* default model "brand-new".*SVC_MODEL to a model of groq, .*OPENAI_API_KEY/,
  )
  await opened?.close()
  expect((await withKeys('', { model: 'gtp-mini' })).try({})).toMatch(
    /Did you mean gpt-mini \(openai\)\? Set SVC_MODEL .*"runwright providers".*OPENAI_BASE_URL .*SVC_PROVIDER=fake/,
  )
  await opened?.close()
  expect((await withKeys('groq')).try({})).toBe(
    'the default model "gpt-mini" is one of openai, and openai cannot be asked: set OPENAI_API_KEY, or ' +
      'PUT /v1/providers/openai/key; or set SVC_MODEL to a model of groq, which can be asked',
  )
})

test('while nothing is configured the refusal says so first, and that other providers will do', async () => {
  const { try: ask } = await withKeys('')
  expect(ask({})).toMatch(
    /^no model provider is configured: the default model "gpt-mini" is one of openai.*set OPENAI_API_KEY.*SVC_MODEL.*"runwright providers"/,
  )
})

test('SVC_PROVIDER answers whoever names nobody else, and what it does not have is still found', async () => {
  const { try: ask } = await withKeys('openrouter anthropic', { provider: 'openrouter' })
  expect(ask({})).toEqual(['openrouter openai/gpt-mini'])
  expect(ask({ model: 'opus' })).toEqual(['anthropic opus-5'])
  expect(ask({ model: 'any/thing' })).toEqual(['openrouter any/thing'])
  expect(ask({ model: 'unheard-of' })).toEqual(['openrouter unheard-of'])
  expect(ask({ provider_name: 'anthropic', model: 'opus' })).toEqual(['anthropic opus-5'])
})

test('an unknown SVC_PROVIDER refuses the start and lists those there are', async () => {
  await expect(withKeys('openai', { provider: 'opnai' })).rejects.toThrow(
    /SVC_PROVIDER: there is no provider "opnai"; there are anthropic, groq, ollama, openai/,
  )
})

test('an own server behind OPENAI_BASE_URL takes every model, without a key on this machine', async () => {
  const own = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1/' }
  const { try: ask, providers } = await withKeys('', { model: 'Qwen/Qwen3' }, own)
  expect(ask({})).toEqual(['openai Qwen/Qwen3'])
  expect(ask({ model: 'Qwen/Qwen3' })).toEqual(['openai Qwen/Qwen3'])
  expect(ask({ model: 'whatever' })).toEqual(['openai whatever'])
  // What another provider would have, had it a key, is the own server's too.
  expect(ask({ model: 'opus-5' })).toEqual(['openai opus-5'])
  expect(ask({ model: 'other/model' })).toMatch(/OPENROUTER_API_KEY/)
  expect(ask({ model: 'other/model', provider_name: 'openai' })).toEqual(['openai other/model'])
  expect(providers.find('openai')).toMatchObject({ baseUrl: 'http://127.0.0.1:9/v1', isConfigured: true })
})

test('an own server elsewhere needs a key', async () => {
  const own = { OPENAI_BASE_URL: 'https://llm.example' }
  expect((await withKeys('', {}, own)).try({})).toMatch(/set OPENAI_API_KEY/)
  await opened?.close()
  expect((await withKeys('openai', {}, own)).try({ model: 'whatever' })).toEqual(['openai whatever'])
})

test.each(['ftp://x.example', 'x.example', 'https://user:hunter2@x.example'])(
  'a variable that is no address (%s) is told, and the vendor’s own is not asked in its place',
  async address => {
    const { try: ask, app } = await withKeys('openai', {}, { OPENAI_BASE_URL: address })
    expect(ask({})).toMatch(/openai cannot be asked: its base URL, from OPENAI_BASE_URL, must be an absolute/)
    const { body } = await app.inject('/v1/providers')
    expect(body).not.toContain('hunter2')
    expect(JSON.parse(body).providers).toContainEqual(
      expect.objectContaining({
        name: 'openai',
        configured: false,
        missing: expect.stringContaining('OPENAI_BASE_URL'),
      }),
    )
  },
)

test('what is learned is found: after what catalogs state, before the slash', async () => {
  const { try: ask, providers } = await withKeys('groq openrouter')
  providers.learn('groq', [{ id: 'openai/gpt-oss' }, { id: 'gpt' }])
  providers.learn('anthropic', [{ id: 'haiku-9' }])
  expect(ask({ model: 'openai/gpt-oss' })).toEqual(['groq openai/gpt-oss'])
  // OpenAI states it and has no key.
  expect(ask({ model: 'gpt' })).toEqual(['groq gpt'])
  expect(ask({ model: 'haiku-9' })).toMatch(/set ANTHROPIC_API_KEY/)
  providers.learn('groq', [])
  expect(ask({ model: 'openai/gpt-oss' })).toEqual(['openrouter openai/gpt-oss'])
})

test('a protocol nobody speaks makes a provider one that cannot be asked', async () => {
  opened = await openProviders(plugin, {
    entries: { acme: smallEntry('acme', { protocol: 'telex' }) },
    variables: { ACME_API_KEY: 'k' },
  })
  expect(opened.try({ model: 'acme-1' })).toMatch(/acme cannot be asked: no plugin speaks its protocol "telex"/)
})

test('the fake provider answers everybody and everything, and is not looked for on the network', async () => {
  const fake = smallEntry('fake', { base_url: 'http://localhost', is_hidden: true, api_key_optional: true, models: {} })
  opened = await openProviders(plugin, {
    entries: { ...ENTRIES, fake },
    config: { provider: 'fake', model: 'gpt-mini' },
  })
  expect(opened.try({})).toEqual(['fake gpt-mini'])
  expect(opened.try({ model: 'opus', provider_name: 'anthropic', fallback_providers: ['openai'] })).toEqual([
    'fake opus',
  ])
  const [candidate] = opened.providers.resolve({}).candidates
  expect(await askOnce(candidate!)).toMatchObject({ text: 'fake: gpt-mini' })
})

test('a refusal costs little, however many models there are and whatever was asked for', async () => {
  const { try: ask, providers } = await withKeys('openai openrouter')
  providers.learn(
    'openrouter',
    Array.from({ length: 5000 }, (_, index) => ({ id: `vendor/some-model-number-${index}` })),
  )
  const before = process.cpuUsage()
  ask({ model: 'x'.repeat(60) })
  ask({ model: 'some-model-nunber-17'.repeat(2) })
  ask({ model: 'gpt', allow_fallback: true, fallback_providers: Array.from({ length: 1000 }, () => 'openrouter') })
  expect(process.cpuUsage(before).user).toBeLessThan(300_000)
})
