import type { ModelConnection } from '#contracts/model/provider'
import { DEFAULT_BASE_URL, type OpenAiCompatibleConfig } from './config.js'
import { type ConnectionLimits, OpenAiConnection } from './connection.js'
import { PROVIDER } from './resolve.js'

/** What answers where no catalog does: the server of the plugin's own settings. */
export interface BareClient {
  readonly client: ModelConnection
  /** Model of a run that names none. */
  readonly model: string
  /** There is no key and the server is known to want one. */
  readonly lacksKey: boolean
}

/** Throws a `Failure` that names the variable when the base URL cannot be used. */
export function openBareClient(
  config: Pick<OpenAiCompatibleConfig, 'api_key' | 'base_url' | 'model'>,
  limits: ConnectionLimits,
): BareClient {
  const baseUrl = config.base_url || DEFAULT_BASE_URL
  const secret = config.api_key.trim()
  const credential = secret === '' ? undefined : { secret }
  const client = new OpenAiConnection(
    {
      provider: PROVIDER,
      baseUrl,
      credential: () => credential,
      headers: {},
      modelPrefix: '',
      traits: () => PLAIN,
    },
    limits,
    'OPENAI_BASE_URL (plugins.openai-compatible.base_url)',
  )
  const lacksKey = secret === '' && new URL(baseUrl).hostname === new URL(DEFAULT_BASE_URL).hostname
  return { client, model: config.model, lacksKey }
}

const PLAIN = Object.freeze({ api: '', quirks: new Set<string>() } as const)
