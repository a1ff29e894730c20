import { type Static, Type } from '@sinclair/typebox'

/** Settings of the macOS sandbox. Empty paths mean: find out. */
export const SeatbeltConfig = Type.Object({
  /** PATH of the daemon: where sandbox-exec and bash are looked for, and what commands get as theirs. */
  search_path: Type.String({ default: '', env: 'PATH' }),
  /** Where the daemon listens: what commands must not reach. */
  listen: Type.String({ default: '127.0.0.1:8080', setting: 'addr' }),
  /** The home directory that commands must not read; default: that of the daemon's user. */
  home: Type.String({ default: '' }),
  /** Keeps the private home (caches of npm, pip, cargo, go) of each workspace; default: `~/.cache/runwright`. */
  cache_dir: Type.String({ default: '' }),
  /** Further paths that no confined command sees: sockets and secrets in unusual places. */
  hidden_paths: Type.Array(Type.String(), { default: [] }),
})
export type SeatbeltConfig = Readonly<Static<typeof SeatbeltConfig>>
