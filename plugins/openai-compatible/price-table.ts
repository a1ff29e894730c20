import type { ModelCandidate } from '#contracts/model/client'

type ModelFacts = Pick<ModelCandidate, 'rates' | 'contextWindow' | 'maxOutputTokens' | 'modalities'>

/**
 * What is known of the service's default models where there is no catalog (`config/minimal.toml`), so that a cost ceiling
 * holds there too; any other model is unpriced. A test holds it to what the catalog says.
 */
export const KNOWN_MODELS: ReadonlyMap<string, ModelFacts> = new Map([
  [
    'gpt-4.1-mini',
    {
      rates: { inputPerMillionUsd: 0.4, outputPerMillionUsd: 1.6 },
      contextWindow: 1_000_000,
      maxOutputTokens: 16_384,
      modalities: ['text'],
    },
  ],
  [
    'gpt-4.1',
    {
      rates: { inputPerMillionUsd: 2, outputPerMillionUsd: 8 },
      contextWindow: 1_000_000,
      maxOutputTokens: 32_768,
      modalities: ['text', 'image'],
    },
  ],
])
