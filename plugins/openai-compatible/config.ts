import { type Static, Type } from '@sinclair/typebox'

export const DEFAULT_BASE_URL = 'https://api.openai.com/v1'

const seconds = (standard: number, description: string) =>
  Type.Number({ default: standard, minimum: 0.01, maximum: 86_400, description })

/** Settings of the plugin, as `[plugins.openai-compatible]` takes them. */
export const OpenAiCompatibleConfig = Type.Object({
  api_key: Type.String({
    default: '',
    env: 'OPENAI_API_KEY',
    secret: true,
    description: 'Sent as Bearer token to the base URL and nowhere else.',
  }),
  base_url: Type.String({
    default: DEFAULT_BASE_URL,
    env: 'OPENAI_BASE_URL',
    description: 'Root of any server that speaks chat completions.',
  }),
  model: Type.String({ default: '', setting: 'model', description: 'Model of a run that names none.' }),
  provider: Type.String({ default: '', setting: 'provider', description: 'Only read to know when another is forced.' }),
  idle_timeout_seconds: seconds(120, 'A stream without a byte for this long has stalled.'),
  header_timeout_seconds: seconds(600, 'How long a server may think before the first byte of its reply.'),
  connect_timeout_seconds: seconds(30, 'How long a connection may take, TLS included.'),
})
export type OpenAiCompatibleConfig = Readonly<Static<typeof OpenAiCompatibleConfig>>
