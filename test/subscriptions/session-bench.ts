import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Credential, ProviderEntry } from '#contracts/model/provider'
import type { PluginLog, PluginManifest } from '#contracts/plugin'
import { PROVIDERS } from '#contracts/ports'
import { type ModelServer, startModelServer } from '#test/kit/model-server'
import { type OpenPlugin, openPlugin } from '#test/kit/open-plugin'
import { createStandInProviders } from '#test/kit/stand-in-providers'

const entry = (base_url: string): ProviderEntry => ({
  base_url,
  protocol: 'openai_compat',
  token_source_required: true,
  models: { m: { context_window: 1 } },
})
const ENTRIES = {
  'codex-subscription': entry('https://codex.test'),
  'kimi-subscription': entry('https://kimi.test'),
  openai: { ...entry('https://openai.test'), token_source_required: false },
}

/** Seconds since 1970, from now. */
export const seconds = (fromNow: number) => Math.floor(Date.now() / 1000) + fromNow
export const jwt = (claims: object) =>
  `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`

/** What codex keeps of a session. */
export const codex = (more: object = {}) => ({
  OPENAI_API_KEY: null,
  tokens: {
    id_token: jwt({ 'https://api.openai.com/auth': { chatgpt_account_id: 'acct-of-token' } }),
    access_token: jwt({ exp: seconds(3600) }),
    refresh_token: 'codex-refresh-1',
    account_id: 'acct-1',
    ...more,
  },
})

/** What kimi keeps of a session. */
export const kimi = (more: object = {}) => ({
  access_token: 'kimi-access-1',
  refresh_token: 'kimi-refresh-1',
  expires_at: seconds(3600) + 0.5,
  token_type: 'Bearer',
  ...more,
})

/** An answer to an import. */
export interface Reply {
  readonly statusCode: number
  readonly body: string
  json(): { readonly error: { readonly code: string; readonly message: string } }
}

type Answer = (form: URLSearchParams, index: number) => readonly [number, unknown]

/** A home directory of a user with vendors' programs, and daemons that take their sessions. Dispose of it after the test. */
export class SessionBench {
  readonly logged: string[] = []
  readonly #opened = new Set<OpenPlugin>()
  server: ModelServer | undefined

  static async make(plugin: PluginManifest): Promise<SessionBench> {
    return new SessionBench(plugin, await mkdtemp(join(tmpdir(), 'runwright-sessions-')))
  }

  private constructor(
    readonly plugin: PluginManifest,
    readonly base: string,
  ) {}

  readonly log: PluginLog = {
    debug: this.#write('debug'),
    info: this.#write('info'),
    warn: this.#write('warn'),
    error: this.#write('error'),
  }

  get codexFile(): string {
    return join(this.base, 'home', '.codex', 'auth.json')
  }

  get kimiFile(): string {
    return join(this.base, 'home', '.kimi-code', 'credentials', 'kimi-code.json')
  }

  copyOf(name: string): string {
    return join(this.base, 'global', 'subscription-auth', name)
  }

  /** Writes a file of mode 0600 with the folders it needs. */
  async put(path: string, content: unknown, mode = 0o600): Promise<void> {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
    await chmod(path, mode)
  }

  /** Starts a token endpoint; it grants `fresh-N` unless told otherwise. */
  async serveTokens(answer?: Answer): Promise<ModelServer> {
    this.server = await startModelServer((call, response, index) => {
      const form = new URLSearchParams(call.bodyText)
      const [status, body] = answer?.(form, index) ?? [
        200,
        { access_token: `fresh-${index}`, refresh_token: `next-${index}`, expires_in: 900, token_type: 'Bearer' },
      ]
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
    return this.server
  }

  /** Opens the plugin with providers of its own, as a start of a daemon does. */
  async open(more: object = {}) {
    const providers = createStandInProviders({ entries: ENTRIES })
    const tokenUrl = this.server ? `${this.server.origin}/token` : 'http://127.0.0.1:9/token'
    const config = {
      directory: join(this.base, 'global'),
      home: join(this.base, 'home'),
      codex_token_url: tokenUrl,
      kimi_token_url: tokenUrl,
      ...more,
    }
    const one = await openPlugin(this.plugin, { ports: [[PROVIDERS, providers]], config, log: this.log })
    this.#opened.add(one)
    const importOf = async (name: string): Promise<Reply> => {
      const reply = await one.app.inject({ method: 'POST', url: `/v1/providers/${name}/import-subscription` })
      return { statusCode: reply.statusCode, body: reply.body, json: () => reply.json() }
    }
    const credential = async (name: string): Promise<Credential | undefined> =>
      providers.credentialOf(name)?.(new AbortController().signal)
    const close = async () => {
      if (this.#opened.delete(one)) await one.close()
    }
    return { providers, importOf, credential, close }
  }

  async dispose(): Promise<void> {
    for (const one of this.#opened) await one.close()
    await this.server?.close()
    await rm(this.base, { recursive: true, force: true })
  }

  #write(level: string) {
    return (facts: object, message: string) => void this.logged.push(JSON.stringify({ level, ...facts, message }))
  }
}
