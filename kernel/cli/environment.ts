import type { ApiKey, KeyStore } from '#contracts/store/key-store'
import type { ConfigView } from './config-view.js'
import type { Check } from './doctor/check.js'
import type { ReconnectPolicy } from './event-stream.js'

/** A key that was just made: `text` is the key itself, shown once and kept nowhere. */
export interface NewApiKey {
  readonly text: string
  readonly prefix: ApiKey['prefix']
  readonly digest: ApiKey['digest']
}

/** Which configuration a command looks at. */
export interface ConfigOptions {
  readonly config?: string
  readonly profile?: string
}

export interface ServeOptions extends ConfigOptions {
  readonly addr?: string
}

/** What the contract kit found in one plugin folder. */
export interface PluginReport {
  readonly plugin: string
  readonly cases: readonly { readonly name: string; readonly error?: string }[]
}

/** The person or program at the other end, and where the daemon is. */
export interface Terminal {
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream
  /** Is there a person at the other end? */
  readonly isTty: { readonly stdin: boolean; readonly stdout: boolean }
  /** NO_COLOR was set. */
  readonly isColourOff: boolean
  /** Width of the terminal; default 100. */
  readonly columns?: number
  readonly cwd: string
  /** Where the daemon is, from SVC_URL or SVC_ADDR. */
  readonly baseUrl: string
  /** The API key, from SVC_TOKEN. */
  readonly token?: string
  /** Default: 250 ms growing to 5 s, given up after 60 s without the daemon. */
  readonly reconnect?: ReconnectPolicy
  /** Calls `handler` at each SIGINT and SIGTERM until undone. */
  onInterrupt(handler: () => void): () => void
}

/**
 * Everything the command line takes from outside. It reads no environment variable, no global stream and no clock of
 * its own, so that a test (or another program) can run it whole.
 */
export interface CliEnvironment extends Terminal {
  readonly version: string
  readonly nodeVersion: string
  now(): Date
  /** Runs the daemon until it is told to stop; resolves with the exit code. */
  serve(options: ServeOptions): Promise<number>
  /** The effective configuration. Rejects when a named file cannot be read. */
  loadConfig(options: ConfigOptions): Promise<ConfigView>
  /** Opens the keys of a run database, also while a daemon uses it. Rejects where there is none and one must exist. */
  openKeyStore(
    path: string,
    access: { readonly mustExist: boolean },
  ): Promise<KeyStore & { close(): Promise<void> | void }>
  createApiKey(): NewApiKey
  /** Runs the contract kit on a plugin folder. */
  checkPlugin(directory: string): Promise<PluginReport>
  /** Starts a daemon of this configuration that stores nothing and listens on a free loopback port. */
  startTrial?(options: ConfigOptions): Promise<{ readonly url: string; stop(): Promise<void> }>
  /** What the installation adds to `doctor`: the sandbox. */
  doctorChecks?(config: ConfigView): Promise<readonly Check[]>
}
