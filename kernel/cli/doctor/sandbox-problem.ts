import type { PluginLog } from '#contracts/plugin'
import { SANDBOX } from '#contracts/ports'
import type { HostOptions, PluginSource } from '../../host/host-options.js'
import { manifestOf } from '../manifest-of.js'

/** What is needed to open the plugin that confines commands without a daemon. */
export interface ProbeOptions extends Pick<HostOptions, 'configure' | 'shelf'> {
  /** Folders of compiled plugins; those that provide no sandbox are left alone. */
  readonly plugins: readonly Pick<PluginSource, 'name' | 'dir'>[]
}

/** Why commands cannot be confined on this machine, and what to do about it; undefined when they can. */
export async function sandboxProblem(options: ProbeOptions, root: string): Promise<string | undefined> {
  const { PluginHost } = await import('../../host/host.js')
  const sources: PluginSource[] = []
  for (const plugin of options.plugins)
    if ((await manifestOf(plugin)).provides?.some(({ id }) => id === SANDBOX.id))
      sources.push({ ...plugin, origin: 'bundled' })
  if (sources.length === 0) return NO_SANDBOX
  const host = new PluginHost({
    sources: async () => sources,
    configure: options.configure,
    shelf: options.shelf,
    kernelPorts: new Map(),
    compose: async () => ({ routing: () => undefined, close: async () => undefined, routes: [] }),
    log: SILENT,
  })
  try {
    await host.sync()
    const policy = { scope: 'workspace', network: 'allow', root, extraDirs: [], hiddenPaths: [] } as const
    const sandbox = host.current.port(SANDBOX)
    return sandbox ? (await sandbox.check(policy))?.reason : NO_SANDBOX
  } finally {
    await host.close()
  }
}

const NO_SANDBOX =
  'no plugin that confines commands on this system is there and switched on; put plugins/bubblewrap (Linux) or ' +
  'plugins/seatbelt (macOS) back'

const silent = (): void => undefined

/** A log that keeps nothing: what goes wrong is for the command to say. */
export const SILENT: PluginLog = { debug: silent, info: silent, warn: silent, error: silent }
