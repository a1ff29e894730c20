import { type Static, Type } from '@sinclair/typebox'

/** Settings of the bubblewrap sandbox. Empty paths mean: find out. */
export const BubblewrapConfig = Type.Object({
  /** PATH of the daemon: where bwrap and bash are looked for, and what commands get as theirs. */
  search_path: Type.String({ default: '', env: 'PATH' }),
  /** Absolute path of the bwrap program; default: the first one on the PATH. */
  bwrap_path: Type.String({ default: '' }),
  /** The home directory that commands must not see; default: that of the daemon's user. */
  home: Type.String({ default: '' }),
  /** Keeps the private home (caches of npm, pip, cargo, go) of each workspace; default: `~/.cache/runwright`. */
  cache_dir: Type.String({ default: '' }),
  /** Further paths that no confined command sees: sockets and secrets in unusual places. */
  hidden_paths: Type.Array(Type.String(), { default: [] }),
  /** Processes and threads of the daemon's user before a command can make no more (RLIMIT_NPROC). 0: no limit. */
  max_processes: Type.Integer({ minimum: 0, default: 4096 }),
  /** Data segment of one process of a command (RLIMIT_DATA). 0: no limit. */
  max_memory_mb: Type.Integer({ minimum: 0, default: 8192 }),
})
export type BubblewrapConfig = Readonly<Static<typeof BubblewrapConfig>>
