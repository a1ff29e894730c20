import { expect, test } from 'vitest'
import { PROVIDER_ENTRIES } from '#contracts/ports'
import { openPlugin } from '#test/kit/open-plugin'
import { plugin as catalog } from '../../plugins/catalog/index.js'
import { KNOWN_MODELS } from '../../plugins/openai-compatible/price-table.js'

test('what the bare client knows of the default models without a catalog is what the catalog says of them', async () => {
  const opened = await openPlugin(catalog)
  const models = opened.items(PROVIDER_ENTRIES)[0]?.providers.openai?.models ?? {}
  await opened.close()
  expect(KNOWN_MODELS.size).toBeGreaterThan(0)
  for (const [id, known] of KNOWN_MODELS) {
    const { pricing, context_window, max_output_tokens, modalities } = models[id] ?? {}
    expect(known).toEqual({
      rates: {
        inputPerMillionUsd: pricing?.input_per_1m_tokens_usd,
        outputPerMillionUsd: pricing?.output_per_1m_tokens_usd,
      },
      contextWindow: context_window,
      maxOutputTokens: max_output_tokens,
      modalities,
    })
  }
})
