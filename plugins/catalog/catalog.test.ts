import { Value } from '@sinclair/typebox/value'
import { expect, test } from 'vitest'
import { inheritModels, resolveAlias } from '#contracts/model/lookup'
import { type ProviderCatalog, ProviderEntry } from '#contracts/model/provider'
import { PROVIDER_ENTRIES } from '#contracts/ports'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

async function catalogWith(config: object = {}): Promise<ProviderCatalog> {
  const opened = await openPlugin(plugin, { config })
  const [catalog] = opened.items(PROVIDER_ENTRIES)
  await opened.close()
  return catalog as ProviderCatalog
}

const entryOf = ({ providers }: ProviderCatalog, name: string) => providers[name] as ProviderEntry

test('fifteen providers ship, each as its schema says', async () => {
  const { providers, version } = await catalogWith()
  const wrong = Object.entries(providers).flatMap(([name, entry]) =>
    [...Value.Errors(ProviderEntry, entry)].map(({ path, message }) => `${name}${path}: ${message}`),
  )
  expect(wrong).toEqual([])
  expect(version).not.toBe('')
  const rows = Object.entries(providers).map(([name, entry]) => {
    const known = inheritModels(entry, of => providers[of])
    return [name, entry.protocol, entry.api_key_env ?? '-', Object.keys(known?.models ?? {}).length].join(' ')
  })
  expect(rows).toEqual([
    'anthropic anthropic ANTHROPIC_API_KEY 8',
    'cerebras openai_compat CEREBRAS_API_KEY 1',
    'codex-subscription openai_compat - 1',
    'deepseek openai_compat DEEPSEEK_API_KEY 4',
    'gemini openai GOOGLE_API_KEY 3',
    'groq openai_compat GROQ_API_KEY 2',
    'kimi-subscription openai_compat - 1',
    'kimi openai_compat MOONSHOT_API_KEY 1',
    'lmstudio openai_compat - 2',
    'ollama openai_compat - 2',
    'openai openai_compat OPENAI_API_KEY 8',
    'openrouter openai_compat OPENROUTER_API_KEY 3',
    'qwen openai_compat DASHSCOPE_API_KEY 2',
    'together openai_compat TOGETHER_API_KEY 1',
    'xai openai_compat XAI_API_KEY 2',
  ])
})

test('every alias that ships leads to a model, and who stands apart is marked', async () => {
  const { providers } = await catalogWith()
  const lost = Object.entries(providers).flatMap(([name, entry]) =>
    Object.keys(entry.aliases ?? {})
      .filter(alias => resolveAlias(entry, alias) === undefined)
      .map(alias => `${name} ${alias}`),
  )
  expect(lost).toEqual([])
  const where = (holds: (entry: ProviderEntry) => unknown) =>
    Object.keys(providers).filter(name => holds(providers[name] as ProviderEntry))
  expect(where(entry => entry.token_source_required)).toEqual(['codex-subscription', 'kimi-subscription'])
  expect(where(entry => entry.api_key_optional)).toEqual(['lmstudio', 'ollama'])
  expect(where(entry => entry.is_aggregator)).toEqual(['openrouter'])
  expect(where(entry => entry.quirks?.includes('no_parallel_tool_calls'))).toEqual(['gemini'])
  expect(where(entry => entry.lists_models)).toEqual(['anthropic', 'deepseek', 'openai', 'openrouter'])
})

test('models that are marked in a cache have prices for that', async () => {
  const { providers } = await catalogWith()
  const prices = Object.values(entryOf({ version: '', providers }, 'anthropic').models).map(({ pricing }) => pricing)
  for (const pricing of prices) {
    const input = pricing?.input_per_1m_tokens_usd ?? 0
    expect([pricing?.cache_read_per_1m_tokens_usd, pricing?.cache_write_per_1m_tokens_usd]).toEqual([
      Number((input * 0.1).toFixed(6)),
      Number((input * 1.25).toFixed(6)),
    ])
  }
})

test('a deployment changes fields, adds models and providers, and takes both away', async () => {
  const catalog = await catalogWith({
    providers: {
      openai: {
        base_url: 'https://gateway.example/openai/v1',
        models: {
          'gpt-4.1': { pricing: { input_per_1m_tokens_usd: 1 } },
          'gpt-4.1-mini': null,
          'gpt-5.3-codex': { enabled: false },
          'gpt-6': { context_window: 2_000_000, enabled: true },
        },
        aliases: { gpt: 'gpt-6', 'gpt4-mini': null },
      },
      xai: { enabled: false },
      groq: null,
      acme: {
        base_url: 'https://acme.example/v1',
        api_key_env: 'ACME_API_KEY',
        protocol: 'openai_compat',
        models: { 'acme-1': { context_window: 8000 } },
      },
    },
  })
  const openai = entryOf(catalog, 'openai')
  expect(openai.base_url).toBe('https://gateway.example/openai/v1')
  expect(openai.models['gpt-4.1']).toMatchObject({
    context_window: 1_000_000,
    pricing: { input_per_1m_tokens_usd: 1, output_per_1m_tokens_usd: 8 },
  })
  expect(openai.models['gpt-6']).toEqual({ context_window: 2_000_000 })
  expect(Object.keys(openai.models)).toHaveLength(7)
  expect(openai.aliases).toEqual({
    gpt4: 'gpt-4.1',
    codex: 'gpt-5.1-codex-mini',
    'codex-mini': 'gpt-5.1-codex-mini',
    gpt: 'gpt-6',
  })
  expect([catalog.providers.xai, catalog.providers.groq]).toEqual([undefined, undefined])
  expect(entryOf(catalog, 'acme').api_key_env).toBe('ACME_API_KEY')
})

test('the aggregator is told who asks, and nobody else is', async () => {
  const { providers } = await catalogWith({ referer: 'https://team.example', title: 'Team' })
  const told = Object.entries(providers).filter(([, { headers }]) => headers?.['X-Title'])
  expect(told.map(([name, { headers }]) => [name, headers])).toEqual([
    ['openrouter', { 'HTTP-Referer': 'https://team.example', 'X-Title': 'Team' }],
  ])
  expect((await catalogWith()).providers.openrouter?.headers).toBeUndefined()
})
