import type { ModelRequest } from '#contracts/model/client'
import { type Credential, QUIRKS, type WireOptions } from '#contracts/model/provider'
import type { HttpDialect, TurnCall } from '#contracts/model/wire/http-connection'
import { RequestHeaders } from '#contracts/model/wire/request-headers'
import type { Endpoint } from './endpoint.js'
import { MessagesReader } from './messages-reader.js'
import { RequestBodyWriter } from './request-body.js'

const API_VERSION = '2023-06-01'
/** The API insists on a number, also where nobody knows the model. */
const DEFAULT_MAX_TOKENS = 4096

/** The words of the messages API, for one provider. */
export class MessagesDialect implements HttpDialect {
  readonly headers: RequestHeaders
  readonly modelsPath: string
  private readonly writer = new RequestBodyWriter()

  constructor(
    private readonly endpoint: Endpoint,
    private readonly options: Pick<WireOptions, 'provider' | 'headers' | 'modelPrefix' | 'traits'>,
  ) {
    this.headers = new RequestHeaders(
      options.provider,
      { 'anthropic-version': API_VERSION },
      options.headers,
      credentialHeaders,
    )
    this.modelsPath = endpoint.modelsPath
  }

  turn(request: ModelRequest): TurnCall {
    const { model, maxOutputTokens } = request
    const { modelPrefix } = this.options
    const known = this.options.traits(model)
    const body = this.writer.write(request, {
      model: model.startsWith(modelPrefix) ? model : modelPrefix + model,
      maxTokens: maxOutputTokens ?? known.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
      hasParallelToolCalls: !known.quirks.has(QUIRKS.noParallelToolCalls),
    })
    return {
      path: this.endpoint.messagesPath,
      body,
      reader: (draft, secret) => new MessagesReader(draft, secret),
    }
  }
}

/**
 * A credential that brings an `authorization` of its own is sent with that one instead of `x-api-key`. Of the bare word
 * `Bearer` its secret makes the rest.
 */
function credentialHeaders({ secret, headers = {} }: Credential) {
  const [name, value] = Object.entries(headers).find(([each]) => each.toLowerCase() === 'authorization') ?? []
  if (name === undefined) return { ...(secret === '' ? {} : { 'x-api-key': secret }), ...headers }
  return value?.trim().toLowerCase() === 'bearer' ? { ...headers, [name]: `Bearer ${secret}` } : headers
}
