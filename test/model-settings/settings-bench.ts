import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelWire, ProviderCatalog, ProviderEntry } from '#contracts/model/provider'
import type { ListedModels } from '#contracts/model/providers'
import type { PluginLog, PluginManifest } from '#contracts/plugin'
import { MODEL_WIRES, PROVIDER_ENTRIES, PROVIDERS, RECORDS, SECRETS } from '#contracts/ports'
import type { Records } from '#contracts/store/records'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import { type OpenPlugin, openPlugin } from '#test/kit/open-plugin'
import { createStandInProviders } from '#test/kit/stand-in-providers'

const model = (context_window: number, input?: number) => ({
  context_window,
  ...(input !== undefined && { pricing: { input_per_1m_tokens_usd: input, output_per_1m_tokens_usd: 2 * input } }),
})

export const ENTRIES: Readonly<Record<string, ProviderEntry>> = {
  openai: {
    base_url: 'https://192.0.2.40/v1',
    base_url_env: 'OPENAI_BASE_URL',
    api_key_env: 'OPENAI_API_KEY',
    protocol: 'openai',
    models: { big: { ...model(1000, 2), display_name: 'Big' }, small: model(500) },
    aliases: { large: 'big' },
  },
  ollama: { base_url: 'http://localhost:11434/v1', api_key_optional: true, protocol: 'openai', models: {} },
  'codex-subscription': {
    base_url: 'https://192.0.2.50',
    token_source_required: true,
    protocol: 'openai',
    models: { sol: model(100) },
  },
  fake: { base_url: 'http://fake.invalid', protocol: 'fake', is_hidden: true, models: {} },
}
const CATALOG: ProviderCatalog = { version: '1', providers: ENTRIES }
const WIRE = { protocols: ['openai', 'openai_compat', 'anthropic'] } as unknown as ModelWire

export interface BenchOptions {
  readonly records?: Records
  readonly isDurable?: boolean
  readonly variables?: Readonly<Record<string, string>>
  readonly config?: object
  readonly fetch?: (provider: string, signal: AbortSignal) => Promise<ListedModels>
}

/** Reply to a request, with its body parsed. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely
  readonly body: any
}

/** The plugin over providers in memory, in a directory of its own. Dispose of it after the test. */
export class SettingsBench {
  readonly logged: string[] = []
  readonly #opened = new Set<OpenPlugin>()

  static async make(plugin: PluginManifest): Promise<SettingsBench> {
    return new SettingsBench(plugin, await mkdtemp(join(tmpdir(), 'runwright-settings-')))
  }

  private constructor(
    readonly plugin: PluginManifest,
    readonly base: string,
  ) {}

  /** Opens the plugin anew, as a start of a daemon does; give `records` of before to open it on the same store. */
  async open(options: BenchOptions = {}) {
    const { variables = {}, isDurable = true, fetch } = options
    const memory = options.records ?? createMemoryRecords()
    const records: Records = { isDurable: () => isDurable, collection: definition => memory.collection(definition) }
    const providers = createStandInProviders({ entries: ENTRIES, variables, ...(fetch && { fetch }) })
    const one = await openPlugin(this.plugin, {
      ports: [
        [PROVIDERS, providers],
        [RECORDS, records],
        [SECRETS, { get: (name: string) => variables[name] }],
        [PROVIDER_ENTRIES, [CATALOG]],
        [MODEL_WIRES, [WIRE]],
      ],
      config: { directory: join(this.base, 'global'), ...options.config },
      log: this.#log,
    })
    this.#opened.add(one)
    const request = async (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object): Promise<Reply> => {
      const reply = await one.app.inject({ method, url: `/v1/model-settings${path}`, ...(payload && { payload }) })
      return { status: reply.statusCode, headers: reply.headers, body: reply.json() }
    }
    return {
      providers,
      records: memory,
      request,
      save: (body: object) => request('POST', '/providers', body),
      act: (name: string, action: string, body?: object) => request('POST', `/providers/${name}/${action}`, body),
      row: async (name: string) =>
        (await request('GET', '')).body.providers.find((row: { name: string }) => row.name === name),
      /** What a request to the provider would be sent with. */
      credential: async (name: string) => providers.credentialOf(name)?.(new AbortController().signal),
      close: async () => {
        if (this.#opened.delete(one)) await one.close()
      },
    }
  }

  async dispose(): Promise<void> {
    for (const one of this.#opened) await one.close()
    await rm(this.base, { recursive: true, force: true })
  }

  readonly #write = (level: string) => (facts: object, message: string) =>
    void this.logged.push(JSON.stringify({ level, ...facts, message }))

  readonly #log: PluginLog = {
    debug: this.#write('debug'),
    info: this.#write('info'),
    warn: this.#write('warn'),
    error: this.#write('error'),
  }
}
