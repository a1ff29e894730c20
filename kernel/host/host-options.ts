import type { PluginLog, PluginManifest } from '#contracts/plugin'
import type { ComposeApp } from './composed-app.js'

/** A folder that holds one plugin. Bundled folders hold compiled files; configured ones may hold TypeScript. */
export interface PluginSource {
  /** The folder's name, and what the manifest must call itself. */
  readonly name: string
  readonly dir: string
  readonly origin: 'bundled' | 'configured'
  /** Switched off by the operator: shown, and nothing else. */
  readonly isOff?: boolean
}

/** What the plugin host is given by whoever assembles the daemon. */
export interface HostOptions {
  /** Folders that are there now, asked at every sync. */
  readonly sources: () => Promise<readonly PluginSource[]>
  /** Raw config of a plugin (settings, its section, environment), checked by the host against `manifest.config`. */
  readonly configure: (manifest: PluginManifest) => unknown
  /** Where staged copies live. It must lie inside the package, so that staged code finds the contracts. */
  readonly shelf: string
  /** Services of the kernel: used where no plugin provides the port. */
  readonly kernelPorts: ReadonlyMap<symbol, unknown>
  readonly compose: ComposeApp
  readonly log: PluginLog
  /** How long importing, registering, stopping and each undo of a plugin may take; default 10 s. */
  readonly limitMs?: number | undefined
}

export const DEFAULT_LIMIT_MS = 10_000
