import type { ConfigReload, DaemonSettings, ReloadReport } from '#contracts/settings'
import { type LoadedConfig, type LoadOptions, loadConfig } from './load.js'
import { afterReload, diffSettings } from './reload.js'

/** The configuration of a running daemon. */
export interface LiveConfig extends ConfigReload {
  /** What is in force now. */
  current(): LoadedConfig
  /** Always what is in force at the moment a property is read. */
  readonly daemon: DaemonSettings
}

/** Brings the daemon in line with what is now in force. When it fails, the old configuration is in force again. */
export type ApplyConfig = (now: LoadedConfig, report: ReloadReport) => Promise<void> | void

/**
 * Loads the configuration and keeps it. Reloads run one after another; each reads the files again, puts what is hot in
 * force and calls `apply`.
 */
export async function openLiveConfig(options: LoadOptions, apply: ApplyConfig = () => {}): Promise<LiveConfig> {
  let current = await loadConfig(options)
  let last: Promise<unknown> = Promise.resolve()

  async function reloadNow(): Promise<ReloadReport> {
    const old = current
    const next = await loadConfig(options)
    const report = diffSettings(old, next)
    current = afterReload(old, next)
    try {
      await apply(current, report)
    } catch (error) {
      current = old
      throw error
    }
    return report
  }

  const daemon = new Proxy({} as DaemonSettings, {
    get: (_, name) => Reflect.get(current.daemon, name),
    has: (_, name) => Reflect.has(current.daemon, name),
    ownKeys: () => Reflect.ownKeys(current.daemon),
    getOwnPropertyDescriptor: (_, name) => ({
      value: Reflect.get(current.daemon, name),
      enumerable: true,
      configurable: true,
    }),
  })

  return {
    current: () => current,
    daemon,
    reload() {
      const turn = last.then(reloadNow)
      last = turn.catch(() => undefined)
      return turn
    },
  }
}
