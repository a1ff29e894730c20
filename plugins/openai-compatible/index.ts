import { definePlugin, STAGE } from '#contracts/plugin'
import { MODEL_WIRES } from '#contracts/ports'
import { openBareClient } from './bare-client.js'
import { OpenAiCompatibleConfig } from './config.js'
import { KEYLESS, PROVIDER, resolveCandidates } from './resolve.js'
import { openAiWire } from './wire.js'

export const plugin = definePlugin({
  name: 'openai-compatible',
  config: OpenAiCompatibleConfig,
  contributes: [MODEL_WIRES],
  honours: ['model', 'provider_name', 'reasoning_effort'],
  register(scope) {
    const { config } = scope
    const limits = {
      idleMs: config.idle_timeout_seconds * 1000,
      headersMs: config.header_timeout_seconds * 1000,
      connectMs: config.connect_timeout_seconds * 1000,
    }
    scope.contribute(MODEL_WIRES, openAiWire(limits))

    const bare = openBareClient(config, limits)
    scope.defer(() => bare.client.close())
    if (bare.lacksKey && config.provider === '') scope.log.info({ provider: PROVIDER }, KEYLESS)
    scope.tap('providerResolving', async request => resolveCandidates(request, bare), { stage: STAGE.last })
  },
})
