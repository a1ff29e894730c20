import type { ModelWire } from '#contracts/model/provider'
import { agentOptions, type WireTimeouts } from '#contracts/model/wire/agent-options'
import { HTTP_LIMITS, HttpConnection, type HttpLimits } from '#contracts/model/wire/http-connection'
import { parseEndpoint } from './endpoint.js'
import { MessagesDialect } from './messages-dialect.js'

/** The messages API, streamed. */
export const messagesWire = (timeouts: WireTimeouts, limits: HttpLimits = HTTP_LIMITS): ModelWire => ({
  protocols: ['anthropic'],
  open(options) {
    const { provider, credential } = options
    const endpoint = parseEndpoint(provider, options.baseUrl)
    return new HttpConnection(new MessagesDialect(endpoint, options), {
      provider,
      origin: endpoint.origin,
      credential,
      limits,
      // undici is loaded by the first turn, not at start.
      openAgent: async () => new (await import('undici')).Agent(agentOptions(timeouts)),
    })
  },
})
