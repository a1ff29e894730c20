import { expect, test } from 'vitest'
import type { ModelOutcome } from '#contracts/model/client'
import type { ProviderCatalog, ProviderEntry } from '#contracts/model/provider'
import { MODEL_WIRES, PROVIDER_ENTRIES, PROVIDERS, SECRETS } from '#contracts/ports'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { createSmallWire } from '#test/kit/small-wire'
import { standInPorts } from '#test/kit/stand-in-ports'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

const model = { context_window: 1000, pricing: { input_per_1m_tokens_usd: 1, output_per_1m_tokens_usd: 2 } }
const entry = (more: Partial<ProviderEntry> = {}): ProviderEntry => ({
  base_url: 'https://acme.example/v1',
  api_key_env: 'ACME_API_KEY',
  protocol: 'small',
  models: { 'acme-1': model },
  ...more,
})

test('a run is answered by the provider of its model, with the key of its variable', async () => {
  const wire = createSmallWire()
  const catalog: ProviderCatalog = { version: '7', providers: { acme: entry() } }
  const opened = await openPlugin(plugin, {
    config: { model: 'acme-1' },
    ports: [
      ...standInPorts(plugin),
      [SECRETS, { get: (name: string) => (name === 'ACME_API_KEY' ? 'sk-1' : undefined) }],
      [MODEL_WIRES, [wire]],
      [PROVIDER_ENTRIES, [catalog]],
    ],
  })
  const providers = opened.port(PROVIDERS)!
  const { candidates } = providers.resolve({})
  expect(candidates).toMatchObject([
    { provider: 'acme', model: 'acme-1', contextWindow: 1000, rates: { inputPerMillionUsd: 1, version: '7' } },
  ])
  const outcome: ModelOutcome = await candidates[0]!.client.answer(
    { model: 'acme-1' } as never,
    { part: () => undefined, drained: () => undefined },
    new AbortController().signal,
  )
  expect(outcome).toMatchObject({ text: 'acme: acme-1' })
  expect(wire.calls).toEqual([
    { provider: 'acme', baseUrl: 'https://acme.example/v1', secret: 'sk-1', headers: {}, model: 'acme-1' },
  ])
  await opened.close()
  expect(wire.closed).toEqual(['acme https://acme.example/v1'])
})
