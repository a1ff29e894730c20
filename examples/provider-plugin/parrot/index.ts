import { definePlugin } from 'runwright/contracts'
import { Config } from './config.js'
import { ParrotClient } from './parrot-client.js'

/** Answers the runs that ask for the provider `parrot`. */
export const plugin = definePlugin({
  name: 'parrot',
  config: Config,
  honours: ['provider_name', 'model'],
  register(scope) {
    const client = new ParrotClient(scope.config.word_delay_ms)
    scope.tap('providerResolving', async request => {
      if (request.provider_name !== client.provider) return undefined
      return [{ provider: client.provider, model: request.model || 'parrot-1', client }]
    })
  },
})
