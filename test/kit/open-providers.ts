import { Failure } from '#contracts/errors'
import type { ModelCandidate, ModelOutcome } from '#contracts/model/client'
import type { ModelWire, ProviderCatalog, ProviderEntry } from '#contracts/model/provider'
import type { Providers } from '#contracts/model/providers'
import type { PluginLog, PluginManifest } from '#contracts/plugin'
import { MODEL_WIRES, PROVIDER_ENTRIES, PROVIDERS, RECORDS, SECRETS } from '#contracts/ports'
import type { Records } from '#contracts/store/records'
import { type OpenPlugin, openPlugin } from './open-plugin.js'
import { createSmallWire, type SmallWire } from './small-wire.js'
import { standInPorts } from './stand-in-ports.js'

export interface OpenProvidersOptions {
  readonly config?: object
  readonly entries?: Readonly<Record<string, ProviderEntry>>
  readonly catalogs?: readonly ProviderCatalog[]
  /** Environment variables that are data. */
  readonly variables?: Readonly<Record<string, string>>
  /** Default: a small wire that speaks `small`. */
  readonly wires?: readonly ModelWire[]
  readonly records?: Records
  readonly log?: PluginLog
}

/** The plugin that provides PROVIDERS, over wires and entries of the test. */
export interface OpenProviders extends OpenPlugin {
  readonly providers: Providers
  readonly wire: SmallWire
  /** `provider model` of every candidate, or the message of the refusal. */
  try(wish: Parameters<Providers['resolve']>[0]): readonly string[] | string
}

export async function openProviders(plugin: PluginManifest, given: OpenProvidersOptions = {}): Promise<OpenProviders> {
  const { entries = {}, variables = {}, catalogs = [{ version: '1', providers: entries }] } = given
  const wire = createSmallWire()
  const opened = await openPlugin(plugin, {
    config: given.config ?? {},
    ...(given.log && { log: given.log }),
    ports: [
      ...standInPorts(plugin),
      [SECRETS, { get: (name: string) => variables[name] }],
      [MODEL_WIRES, given.wires ?? [wire]],
      [PROVIDER_ENTRIES, catalogs],
      ...(given.records ? ([[RECORDS, given.records]] as const) : []),
    ],
  })
  const providers = opened.port(PROVIDERS)
  if (providers === undefined) throw new Error(`${plugin.name} provides no ${PROVIDERS.name}`)
  return {
    ...opened,
    providers,
    wire,
    try(wish) {
      try {
        return providers.resolve(wish).candidates.map(({ provider, model }) => `${provider} ${model}`)
      } catch (error) {
        if (error instanceof Failure) return error.message
        throw error
      }
    },
  }
}

/** A provider at an address of its own that speaks `small`. */
export const smallEntry = (name: string, more: Partial<ProviderEntry> = {}): ProviderEntry => ({
  base_url: `https://${name}.example/v1`,
  api_key_env: `${name.toUpperCase()}_API_KEY`,
  protocol: 'small',
  models: { [`${name}-1`]: { context_window: 1000 } },
  ...more,
})

/** One turn of a candidate; what it shows is thrown away. */
export const askOnce = (
  { client, model }: ModelCandidate,
  signal = new AbortController().signal,
): Promise<ModelOutcome> =>
  client.answer(
    { model, system: '', messages: [], trailing: [], tools: [], runId: 'r', conversationId: 'c', step: 1 },
    { part: () => undefined, drained: () => undefined },
    signal,
  )
