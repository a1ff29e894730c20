import type { PluginManifest } from '#contracts/plugin'

/** One setting as `config show` prints it. Secrets are masked before they come here. */
export interface ConfigEntry {
  /** Dotted key, as in the config file. */
  readonly key: string
  readonly value: string
  /** `default`, a file, or a variable. */
  readonly source: string
}

/** The effective configuration, and what was wrong on the way there. */
export interface ConfigView {
  readonly entries: readonly ConfigEntry[]
  /** Sentences: a value of the wrong type whose previous layer was kept, an unknown key. */
  readonly problems: readonly string[]
  /** Path of the run database; empty or absent where there is none. */
  readonly runDb?: string
  /** What a daemon would give a plugin as its configuration; absent: the plugin's own defaults. */
  readonly configure?: (manifest: PluginManifest) => unknown
}
