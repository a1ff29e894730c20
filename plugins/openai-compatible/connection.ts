import type { WireOptions } from '#contracts/model/provider'
import { agentOptions, type WireTimeouts } from '#contracts/model/wire/agent-options'
import { HTTP_LIMITS, HttpConnection, type HttpLimits } from '#contracts/model/wire/http-connection'
import { parseEndpoint } from './endpoint.js'
import { OpenAiDialect } from './openai-dialect.js'

export interface ConnectionLimits extends WireTimeouts, Partial<HttpLimits> {}

/** Chat completions and responses of one provider, streamed. Nothing is opened before the first request. */
export class OpenAiConnection extends HttpConnection {
  /** Throws a `Failure` for options that cannot be used; it calls the base URL `baseUrlName`. */
  constructor(
    options: WireOptions,
    { idleMs, headersMs, connectMs, ...limits }: ConnectionLimits,
    baseUrlName = `the base URL of provider ${options.provider}`,
  ) {
    const endpoint = parseEndpoint(options.baseUrl, baseUrlName)
    const { provider, credential } = options
    super(new OpenAiDialect(endpoint, options, limits), {
      provider,
      credential,
      origin: endpoint.origin,
      limits: { ...HTTP_LIMITS, ...limits },
      // undici is loaded by the first request, not at start.
      openAgent: async () => new (await import('undici')).Agent(agentOptions({ idleMs, headersMs, connectMs })),
    })
  }
}
