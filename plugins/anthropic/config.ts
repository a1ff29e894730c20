import { type Static, Type } from '@sinclair/typebox'

const seconds = (standard: number, description: string) =>
  Type.Number({ default: standard, minimum: 0.01, maximum: 86_400, description })

/** Settings of the plugin, as `[plugins.anthropic]` takes them. */
export const AnthropicConfig = Type.Object({
  idle_timeout_seconds: seconds(120, 'A stream without a byte for this long has stalled.'),
  header_timeout_seconds: seconds(600, 'How long a server may think before the first byte of its reply.'),
  connect_timeout_seconds: seconds(30, 'How long a connection may take, TLS included.'),
})
export type AnthropicConfig = Readonly<Static<typeof AnthropicConfig>>
