import { Type } from '@sinclair/typebox'
import { definePlugin, PROVIDER_ENTRIES } from 'runwright/contracts'

/** A provider that speaks a wire the daemon has is data: where it is, which variable holds the key, what it offers. */
export const plugin = definePlugin({
  name: 'acme',
  config: Type.Object({ base_url: Type.String({ default: 'https://models.acme.example/v1', env: 'ACME_BASE_URL' }) }),
  contributes: [PROVIDER_ENTRIES],
  register(scope) {
    scope.contribute(PROVIDER_ENTRIES, {
      version: 'acme-2026-11',
      providers: {
        acme: {
          display_name: 'Acme',
          base_url: scope.config.base_url,
          api_key_env: 'ACME_API_KEY',
          protocol: 'openai_compat',
          models: {
            'rocket-2': {
              context_window: 131_072,
              max_output_tokens: 8192,
              modalities: ['text'],
              pricing: { input_per_1m_tokens_usd: 0.5, output_per_1m_tokens_usd: 1.5 },
            },
          },
          aliases: { rocket: 'rocket-2' },
        },
      },
    })
  },
})
