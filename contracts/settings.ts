import type { TSchema } from '@sinclair/typebox'

/**
 * Annotations a plugin puts on a property of its config schema to have it filled from the deployment's settings:
 * `Type.String({ default: '', setting: 'run_db' })` takes the setting of that key (see `config/schema.ts`);
 * `Type.String({ env: 'ACME_API_KEY', secret: true })` takes an environment variable. The plugin's own section of the
 * config file (`[plugins.<name>]`) wins over a setting and loses to an environment variable.
 */
declare module '@sinclair/typebox' {
  interface SchemaOptions {
    /** Key of a daemon setting, dotted as in the config file. */
    setting?: string
    /** Environment variable; a value of the wrong type is reported and ignored. */
    env?: string
    /** Masked wherever configuration is shown. */
    secret?: boolean
  }
}

export type ConfigSchema = TSchema

/** What a reload did. Keys are dotted. */
export interface ReloadReport {
  readonly applied: readonly string[]
  readonly restart_required: readonly string[]
}

/** Reads the layers again and brings the daemon in line. */
export interface ConfigReload {
  /** Fails with `invalid_request` when a file cannot be read; then nothing changed. */
  reload(): Promise<ReloadReport>
}

/** Environment variables by name, for plugins whose variables are data (a catalog of providers). Never logged. */
export interface Secrets {
  get(name: string): string | undefined
}

/**
 * What the kernel itself asks of the configuration; everything else belongs to a plugin. Read at the moment of use, so a
 * reload takes effect for what starts after it. Units are in the names.
 */
export interface DaemonSettings {
  /** `host:port`; port 0 picks a free one. */
  readonly addr: string
  /** True only for the exact word `true`. */
  readonly authDisabled: boolean
  /** Absolute path of the directory runs work in by default. */
  readonly workspace: string
  /** Absolute path of the daemon's state directory (`<workspace>/.runwright`). */
  readonly stateDir: string
  /** What no tool and no command may see: state, databases, operator configuration. Absolute paths. */
  readonly hiddenPaths: readonly string[]
  /** Default model id. */
  readonly model: string
  readonly retryMaxAttempts: number
  readonly retryMaxTotalSec: number
  /** 0: no cap; else further runs stay `queued`. */
  readonly maxConcurrentRuns: number
  readonly sseKeepaliveSeconds: number
  readonly watchEnabled: boolean
  readonly watchIntervalSeconds: number
  /** Host names (with port) the daemon also answers to, besides its own address. */
  readonly allowedHosts: readonly string[]
  /** Origins that may call from a browser, exact. */
  readonly allowedOrigins: readonly string[]
  /** `trace` to `silent`. */
  readonly logLevel: string
}
