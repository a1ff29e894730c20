import { definePlugin, STAGE } from '#contracts/plugin'
import { ChatCompletionsClient } from './chat-client.js'
import { DEFAULT_BASE_URL, OpenAiCompatibleConfig } from './config.js'
import { parseEndpoint } from './endpoint.js'
import { NOTHING_SET, PROVIDER, resolveCandidates } from './resolve.js'

export const plugin = definePlugin({
  name: 'openai-compatible',
  config: OpenAiCompatibleConfig,
  honours: ['model', 'provider_name', 'reasoning_effort'],
  register(scope) {
    const { config } = scope
    const endpoint = parseEndpoint(config.baseUrl || DEFAULT_BASE_URL)
    const apiKey = config.apiKey.trim()
    const lacksKey = apiKey === '' && endpoint.isOpenAi
    if (lacksKey && config.provider !== 'fake') scope.log.warn({ provider: PROVIDER }, NOTHING_SET)

    const client = new ChatCompletionsClient(PROVIDER, {
      endpoint,
      apiKey,
      idleMs: config.idleTimeoutSeconds * 1000,
      headersMs: config.headerTimeoutSeconds * 1000,
      connectMs: config.connectTimeoutSeconds * 1000,
    })
    scope.defer(() => client.close())
    const standard = { model: config.model, client, lacksKey }
    scope.tap('providerResolving', async request => resolveCandidates(request, standard), { stage: STAGE.last })
  },
})
