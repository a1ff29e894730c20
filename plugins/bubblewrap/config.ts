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
  /**
   * What a confined command with network `allow` gets: a network of its own, from which nothing that listens on this
   * machine can be reached, or the host's, the daemon's own interface included.
   */
  allowed_network: Type.Union([Type.Literal('private'), Type.Literal('host')], { default: 'private' }),
  /** `address:port` of this machine, not on its loopback, that commands in a private network may reach nevertheless. */
  host_services: Type.Array(Type.String({ pattern: '^(?!127\\.|0\\.)\\d{1,3}(\\.\\d{1,3}){3}:\\d{1,5}$' }), {
    default: [],
  }),
  /** A private network that no command uses is kept so long. */
  network_idle_seconds: Type.Number({ minimum: 0, maximum: 3600, default: 30 }),
  /** Processes and threads of the daemon's user before a command can make no more (RLIMIT_NPROC). 0: no limit. */
  max_processes: Type.Integer({ minimum: 0, default: 4096 }),
  /** Data segment of one process of a command (RLIMIT_DATA). 0: no limit. */
  max_memory_mb: Type.Integer({ minimum: 0, default: 8192 }),
})
export type BubblewrapConfig = Readonly<Static<typeof BubblewrapConfig>>
