import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Rates } from '#contracts/run/cost'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'
import { CHAT_WIRE, type ScriptedWire } from '#test/kit/chat-wire'
import { MESSAGES_WIRE } from '#test/kit/messages-wire'
import type { ModelServer } from '#test/kit/model-server'
import { RESPONSES_WIRE } from '#test/kit/responses-wire'

/** One API of a wire, and the provider of the catalog that is put in front of it. */
export interface WireCase {
  readonly name: string
  readonly scripted: ScriptedWire
  readonly provider: string
  readonly model: string
  readonly rates: Rates
  /** Points the provider at a local server, by the vendor's usual variables. */
  environment(origin: string): Readonly<Record<string, string>>
}

const openai = (origin: string) => ({ OPENAI_API_KEY: 'sk-openai', OPENAI_BASE_URL: `${origin}/v1` })

export const CHAT: WireCase = {
  name: 'chat completions',
  scripted: CHAT_WIRE,
  provider: 'openai',
  model: 'gpt-4.1',
  rates: { inputPerMillionUsd: 2, outputPerMillionUsd: 8 },
  environment: openai,
}

export const RESPONSES: WireCase = {
  name: 'responses',
  scripted: RESPONSES_WIRE,
  provider: 'openai',
  model: 'gpt-5.1-codex',
  rates: { inputPerMillionUsd: 1.25, outputPerMillionUsd: 10, cacheReadPerMillionUsd: 0.125 },
  environment: openai,
}

export const MESSAGES: WireCase = {
  name: 'messages',
  scripted: MESSAGES_WIRE,
  provider: 'anthropic',
  model: 'claude-sonnet-5',
  rates: {
    inputPerMillionUsd: 3,
    outputPerMillionUsd: 15,
    cacheReadPerMillionUsd: 0.3,
    cacheWritePerMillionUsd: 3.75,
  },
  environment: origin => ({ ANTHROPIC_API_KEY: 'sk-ant', ANTHROPIC_BASE_URL: `${origin}/v1` }),
}

export const WIRES = [CHAT, RESPONSES, MESSAGES]

/** Boots a daemon whose providers are these servers. `config` is added to its configuration file. */
export async function bootWith(
  servers: readonly (readonly [WireCase, ModelServer])[],
  options: BootOptions & { readonly dir: string; readonly config?: string },
): Promise<Booted> {
  const configFile = join(options.dir, 'providers.toml')
  await writeFile(configFile, `${CONFIG}${options.config ?? ''}`)
  return boot({
    configFile,
    ...options,
    environment: Object.assign(
      { SVC_LIVE_MODELS: 'false' },
      ...servers.map(([wire, server]) => wire.environment(server.origin)),
    ),
    settings: { provider: '', ...options.settings },
  })
}

/** Prices the catalog does not state, and timeouts a test can wait for. */
const CONFIG = `
[plugins.catalog.providers.openai.models."gpt-5.1-codex".pricing]
input_per_1m_tokens_usd = 1.25
output_per_1m_tokens_usd = 10
cache_read_per_1m_tokens_usd = 0.125

[plugins.openai-compatible]
idle_timeout_seconds = 0.5

[plugins.anthropic]
idle_timeout_seconds = 0.5
`
