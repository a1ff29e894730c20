import type { DaemonSettings } from '#contracts/settings'
import { operatorDirectory } from './paths.js'
import type { Settings } from './schema.js'

/** What the kernel itself goes by, under its own names. */
export const daemonSettings = (settings: Settings, home: string): DaemonSettings =>
  Object.freeze({
    addr: settings.addr,
    authDisabled: settings.auth_disabled,
    workspace: settings.workspace,
    stateDir: settings.state_dir,
    hiddenPaths: Object.freeze([
      ...new Set([settings.state_dir, operatorDirectory(home), settings.global_dir]),
      ...[settings.run_db, settings.conversation_db, settings.relay_db].flatMap(withSideFiles),
    ]),
    model: settings.model,
    retryMaxAttempts: settings.retry_max_attempts,
    retryMaxTotalSec: settings.retry_max_total_sec,
    maxConcurrentRuns: settings.max_concurrent_runs,
    sseKeepaliveSeconds: settings.sse_keepalive_seconds,
    watchEnabled: settings.watch_enabled,
    watchIntervalSeconds: settings.watch_interval_seconds,
    allowedHosts: settings.allowed_hosts,
    allowedOrigins: settings.allowed_origins,
    logLevel: settings.log_level,
  })

/** A database is as good as what lies beside it: who may write its log or take its lock may destroy or steal it. */
const withSideFiles = (database: string): readonly string[] =>
  database === '' ? [] : ['', '-wal', '-shm', '-journal', '.lock'].map(suffix => database + suffix)
