import { writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Rates } from '#contracts/run/cost'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'
import { CHAT_WIRE, type ScriptedTurn, type ScriptedWire } from '#test/kit/chat-wire'
import { MESSAGES_WIRE } from '#test/kit/messages-wire'
import { type ModelServer, startModelServer } from '#test/kit/model-server'
import { loopTurns, stream } from '#test/kit/model-stream'
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

/** What a provider does with one request: answers a turn, or something else with the raw response. */
export type Reply = ScriptedTurn | ((response: ServerResponse, wire: ScriptedWire) => void | Promise<void>)

/** A provider that plays a script, its answers cut into reads at random places; asked beyond its end it answers 500. */
export async function startProvider({ scripted }: WireCase, replies: readonly Reply[], seed = 1): Promise<ModelServer> {
  const random = randomOf(seed)
  return startModelServer(async (call, response, index) => {
    const reply = call.path.split('?')[0]?.endsWith(scripted.path) ? replies[index] : undefined
    if (reply === undefined)
      return refuse(500, `no reply is scripted for request ${index} to ${call.path}`)(response, scripted)
    if (typeof reply === 'function') return reply(response, scripted)
    await sendCut(stream(response), Buffer.from(scripted.frames(reply).join('')), random)
    response.end()
  })
}

/** An HTTP error. */
export const refuse =
  (status: number, message = 'scripted', headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse, wire: ScriptedWire): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(wire.error(message))

/** The frames of a turn up to the chunk of this index, then `after` with the open response. */
export const broken =
  (turn: ScriptedTurn, upTo: number, after: (response: ServerResponse) => void) =>
  async (response: ServerResponse, wire: ScriptedWire): Promise<void> => {
    stream(response).write(wire.frames(turn).slice(0, upTo).join(''))
    await loopTurns(20)
    after(response)
  }

async function sendCut(response: ServerResponse, bytes: Buffer, random: () => number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const next = Math.min(bytes.length, at + 1 + Math.floor(random() * 60))
    response.write(bytes.subarray(at, next))
    at = next
    if (random() < 0.5) await loopTurns(1)
  }
}

/** A small generator of equally spread numbers in [0, 1), the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Boots a daemon whose providers are these servers. */
export async function bootWith(
  servers: readonly (readonly [WireCase, ModelServer])[],
  options: BootOptions & { readonly dir: string },
): Promise<Booted> {
  const configFile = join(options.dir, 'providers.toml')
  await writeFile(configFile, CONFIG)
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
idleTimeoutSeconds = 0.5

[plugins.anthropic]
idleTimeoutSeconds = 0.5
`
