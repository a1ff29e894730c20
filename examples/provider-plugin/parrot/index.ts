import { definePlugin, MODEL_WIRES, PROVIDER_ENTRIES } from 'runwright/contracts'
import { Config } from './config.js'
import { ParrotClient } from './parrot-client.js'

/** A wire of its own, and a provider that speaks it. */
export const plugin = definePlugin({
  name: 'parrot',
  config: Config,
  contributes: [MODEL_WIRES, PROVIDER_ENTRIES],
  register(scope) {
    scope.contribute(MODEL_WIRES, {
      protocols: ['parrot'],
      open: ({ provider }) => new ParrotClient(provider, scope.config.word_delay_ms),
    })
    scope.contribute(PROVIDER_ENTRIES, {
      version: 'parrot-1',
      providers: {
        parrot: {
          base_url: 'https://parrot.example',
          protocol: 'parrot',
          api_key_optional: true,
          models: {
            'parrot-1': {
              context_window: 8192,
              pricing: { input_per_1m_tokens_usd: 0.1, output_per_1m_tokens_usd: 0.2 },
            },
          },
          aliases: { polly: 'parrot-1' },
        },
      },
    })
  },
})
