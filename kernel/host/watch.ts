import { once } from 'node:events'

/** What to watch and whom to tell. */
export interface WatchOptions {
  /** Plugin folders, or folders that hold them. Those that do not exist yet count from when they do. */
  readonly dirs: readonly string[]
  readonly intervalMs: number
  /** Ends the watch. */
  readonly signal: AbortSignal
  /** Told once when the watch stands, for what changed before, and once per burst of changes. Must not throw. */
  readonly onChange: () => void
}

/** A save of several files arrives as several events; the burst is over after this long without one. */
const QUIET_MS = 100
const IGNORED = /(^|[/\\])(\.[^/\\]*|node_modules)([/\\]|$)|~$/

/** Watches by polling, which sees changes on every file system. Resolves when the signal has fired and all is closed. */
export async function watchPlugins({ dirs, intervalMs, signal, onChange }: WatchOptions): Promise<void> {
  if (signal.aborted) return
  const { watch } = await import('chokidar')
  const watcher = watch([...dirs], {
    usePolling: true,
    interval: intervalMs,
    binaryInterval: intervalMs,
    ignoreInitial: true,
    followSymlinks: false,
    ignored: path => dirs.every(dir => path !== dir) && IGNORED.test(relativeTo(dirs, path)),
  })
  let timer: NodeJS.Timeout | undefined
  const tellSoon = (): void => {
    clearTimeout(timer)
    timer = setTimeout(onChange, QUIET_MS)
  }
  watcher.on('all', tellSoon)
  // What changed between the caller's own look at the folders and the first one of the watch is no event.
  watcher.once('ready', tellSoon)
  // A folder that cannot be read is for the reload to report.
  watcher.on('error', onChange)
  try {
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    clearTimeout(timer)
    await watcher.close()
  }
}

/** A hidden folder above the watched one (`~/.config/...`) hides nothing. */
function relativeTo(dirs: readonly string[], path: string): string {
  const dir = dirs.find(candidate => path.startsWith(candidate))
  return dir === undefined ? path : path.slice(dir.length)
}
