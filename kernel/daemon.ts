import { Failure, messageOf } from '#contracts/errors'
import type { Port } from '#contracts/plugin'
import { EVENTS, KEY_STORE, MESSAGE_STORE, RECORDS, RUN_STORE, RUNS, TOOLS } from '#contracts/ports'
import type { DaemonSettings } from '#contracts/settings'
import type { ToolCatalog } from '#contracts/tool/tool'
import { createKeyring } from './auth/keyring.js'
import { EventStreams } from './events/event-streams.js'
import { EventHub } from './events/hub.js'
import { type ComposeApp, type HostOptions, PluginHost, type PortLookup, required, watchPlugins } from './host/index.js'
import { parseBindAddress } from './http/bind-address.js'
import { composeApp } from './http/compose-app.js'
import { createFront } from './http/front.js'
import { createKernelRoutes } from './http/kernel-routes.js'
import { releaseLease } from './http/lease.js'
import { RunEngine } from './run/engine.js'
import { createMemoryMessageStore } from './storage/memory-message-store.js'
import { createMemoryRecords } from './storage/memory-records.js'
import { createMemoryRunStore } from './storage/memory-run-store.js'

/** The limits of time a daemon keeps to. */
export interface DaemonLimits {
  /** How long the reader of a stream may take nothing before it is cut; default 20 s. */
  readonly streamStalledMs?: number | undefined
  /** How long importing, registering, stopping and each undo of a plugin may take; default 10 s. */
  readonly pluginLimitMs?: number | undefined
}

export interface DaemonOptions extends DaemonLimits, Pick<HostOptions, 'sources' | 'configure' | 'shelf' | 'log'> {
  /** Read at the moment of use, so that a reload takes effect for what starts after it. */
  readonly settings: DaemonSettings
  /** Services of the entry: config reload, secrets. */
  readonly ports: readonly (readonly [symbol, unknown])[]
  /** Directories that are watched for changed plugins. */
  readonly watched: readonly string[]
}

/** How long runs in flight may take to reach the end of what they are doing when the daemon stops. */
const RUN_GRACE_MS = 4_000
/** How long connections may take in all. */
const CLOSE_GRACE_MS = 12_000

/** A running daemon. */
export interface Daemon {
  /** As `http://127.0.0.1:8080`. */
  readonly url: string
  readonly port: number
  readonly runs: RunEngine
  readonly host: PluginHost
  /** Open event streams. */
  readonly openStreams: number
  /** Runs that a former process had left unfinished and this one took over. */
  readonly claimed: number
  /** Brings plugins in line with their folders and the configuration. */
  sync(): Promise<void>
  /**
   * Refuses new work, lets runs reach a safe place (durable ones go on at the next start, others end as cancelled),
   * ends streams with a hint to come back, closes stores. Takes at most 15 s.
   */
  stop(): Promise<void>
}

/** Assembles the kernel, opens the plugins, binds the address, takes over unfinished runs, and only then answers. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { settings, log } = options
  // A slip of the address is told before any plugin is opened.
  parseBindAddress(settings.addr)
  const hub = new EventHub()
  const engine = new RunEngine({ epoch: () => host.current, hub, settings: () => settings, log })
  const keyring = createKeyring({
    keyStore: () => host.current.port(KEY_STORE),
    authDisabled: () => settings.authDisabled,
    now: Date.now,
  })
  const streams = new EventStreams({
    hub,
    runs: engine,
    store: () => required(host.current, RUN_STORE),
    messages: () => required(host.current, MESSAGE_STORE),
    hooks: () => host.current.hooks,
    keepaliveSeconds: () => settings.sseKeepaliveSeconds,
    isStillValid: identity => keyring.isStillValid(identity),
    releaseLease,
    stalledMs: options.streamStalledMs,
  })
  let isReady = false
  let getReady = (): void => {}
  const ready = new Promise<void>(resolve => {
    getReady = resolve
  })
  const kernelRoutes = createKernelRoutes({
    plugins: () => host.plugins(),
    reasonsNotReady: () => (isReady && !front.isStopping ? [] : [isReady ? 'stopping' : 'starting']),
  })
  const compose: ComposeApp = async (contributions, ports) => {
    if (isReady) keepStores(host.current, ports)
    return composeApp(contributions, {
      identify: request => keyring.identify(request),
      log,
      kernelRoutes,
    })
  }
  const host = new PluginHost({
    ...options,
    kernelPorts: new Map<symbol, unknown>([
      [RUN_STORE.id, createMemoryRunStore()],
      [MESSAGE_STORE.id, createMemoryMessageStore()],
      [RECORDS.id, createMemoryRecords()],
      [RUNS.id, engine],
      [EVENTS.id, streams],
      [TOOLS.id, { list: () => [...host.current.tools.values()] } satisfies ToolCatalog],
      ...options.ports,
    ]),
    compose,
    limitMs: options.pluginLimitMs,
  })
  const front = createFront({
    current: () => host.current,
    settings: () => settings,
    hasKeys: () => host.current.port(KEY_STORE) !== undefined,
    log,
    ready,
  })
  await host.sync()
  try {
    // The address first: a daemon that cannot be reached must not have touched anybody's run.
    const { url, port } = await front.listen()
    const claimed = await engine.claimUnfinished()
    isReady = true
    getReady()
    const watching = new AbortController()
    watch(options, host, watching.signal)
    log.info({ url, plugins: host.plugins().filter(({ state }) => state === 'running').length, claimed }, 'listening')
    return {
      url,
      port,
      runs: engine,
      host,
      claimed,
      get openStreams() {
        return streams.size
      },
      async sync() {
        await host.sync()
      },
      async stop() {
        watching.abort()
        await front.close(CLOSE_GRACE_MS, async () => {
          await engine.stop(RUN_GRACE_MS)
          streams.closeAll()
        })
        await host.close()
      },
    }
  } catch (error) {
    await engine.stop(0)
    await front.close(0)
    await host.close()
    throw error
  }
}

/**
 * Runs that were acknowledged must stay readable, and a daemon that asks for keys must go on asking: what keeps them may
 * be replaced, not taken away.
 */
function keepStores(before: PortLookup, after: PortLookup): void {
  const losesKeys = before.port(KEY_STORE) !== undefined && after.port(KEY_STORE) === undefined
  const isLessDurable = (port: Port<{ readonly isDurable: boolean }>): boolean =>
    before.port(port)?.isDurable === true && after.port(port)?.isDurable !== true
  if (losesKeys || isLessDurable(RUN_STORE) || isLessDurable(MESSAGE_STORE))
    throw new Failure(
      'conflict',
      'the plugin that keeps runs, histories or keys cannot be taken from a running daemon: put it back, or restart without it',
    )
}

/** Reloads plugins as their folders change. A plugin that cannot be loaded changes nothing; the host says why. */
function watch({ settings, watched, log }: DaemonOptions, host: PluginHost, signal: AbortSignal): void {
  if (!settings.watchEnabled || watched.length === 0) return
  const onChange = async (): Promise<void> => {
    const report = await host.sync().catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'plugins not reloaded')
    })
    if (report?.isChanged)
      log.info({ epoch: report.epoch, opened: report.opened, closed: report.closed }, 'plugins reloaded')
  }
  const intervalMs = settings.watchIntervalSeconds * 1000
  watchPlugins({ dirs: watched, intervalMs, signal, onChange }).catch((error: unknown) => {
    log.error({ error: messageOf(error) }, 'plugin folders are not watched')
  })
}
