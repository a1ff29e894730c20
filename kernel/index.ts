import { existsSync, mkdirSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  configurePlugin,
  createSecrets,
  describeProblem,
  type Environment,
  type LiveConfig,
  type LoadedConfig,
  openLiveConfig,
  type Problem,
  type Settings,
  strayPlugins,
} from '#config/index'
import { messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'
import { CONFIG_RELOAD, RUN_STORE, SECRETS } from '#contracts/ports'
import { type Daemon, type DaemonLimits, startDaemon } from './daemon.js'
import type { PluginSource } from './host/index.js'
import { createLog } from './http/log.js'

export type { Daemon } from './daemon.js'

/** How a program embeds the daemon. Everything is optional: `{}` is the daemon on its defaults. */
export interface DaemonConfig extends DaemonLimits {
  /** The highest layer of the configuration, by setting key: `{ addr: '127.0.0.1:0', run_db: '/var/lib/runs.db' }`. */
  readonly settings?: Partial<Settings>
  readonly configFile?: string
  readonly profile?: string
  /** Environment variables the configuration may read; default: none. The process's own are never looked at. */
  readonly environment?: Environment
  /** Directory that holds user configuration; default: the user's home. */
  readonly home?: string
  readonly cwd?: string
  /** Default: JSON lines on stderr at the configured level. */
  readonly log?: PluginLog
  /** Makes the state directory at start, so that no command can make it first. Default true; false where no tool runs. */
  readonly makesStateDir?: boolean
  /** Directories of bundled plugins in place of the package's own; for tests. */
  readonly bundled?: readonly string[]
}

/** A daemon together with the configuration it runs on. */
export interface ConfiguredDaemon extends Daemon {
  readonly config: LiveConfig
  readonly log: PluginLog
}

/** Where this package is installed. */
export const PACKAGE_DIR = fileURLToPath(new URL('../../', import.meta.url))
const COMPILED_DIR = join(PACKAGE_DIR, 'dist', 'plugins')
/** The same plugins, one file each; made by `npm run build`. */
const PACKED_DIR = join(PACKAGE_DIR, 'dist', 'packed')

/** The plugins that ship with the package, switched on or not. One that was compiled after it was packed counts as compiled. */
export async function bundledPlugins(): Promise<readonly PluginSource[]> {
  const compiled = await foldersOf(COMPILED_DIR, 'bundled')
  return compiled.map(source => {
    const packed = join(PACKED_DIR, source.name)
    return ageOf(packed) >= ageOf(source.dir) ? { ...source, dir: packed } : source
  })
}

/** When the entry of a folder was written, in milliseconds; 0 when it is not there. */
const ageOf = (dir: string): number => statSync(join(dir, 'index.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0

/**
 * Starts a daemon in this process. Resolves once it listens; rejects with a sentence that says what to change. Call
 * `stop` before the process ends.
 */
export async function createDaemon(config: DaemonConfig = {}): Promise<ConfiguredDaemon> {
  let daemon: Daemon | undefined
  const live = await openLiveConfig(
    {
      environment: config.environment ?? {},
      cwd: config.cwd ?? process.cwd(),
      home: config.home ?? homedir(),
      ...(config.profile !== undefined && { profile: config.profile }),
      ...(config.configFile !== undefined && { configFile: config.configFile }),
      ...(config.settings && { overrides: config.settings }),
    },
    async now => {
      await daemon?.sync()
      if (own) own.level = now.daemon.logLevel
      report(now.problems)
      await reportStrays(now)
    },
  )
  const own = config.log ? undefined : createLog(live.daemon.logLevel)
  const log = config.log ?? (own as PluginLog)
  const told = new WeakMap<LoadedConfig, Set<string>>()
  const report = (problems: readonly Problem[]): void => {
    const texts = told.get(live.current()) ?? new Set()
    told.set(live.current(), texts)
    for (const problem of problems) {
      const text = describeProblem(problem)
      if (!texts.has(text)) log.warn({ key: problem.key, source: problem.source }, text)
      texts.add(text)
    }
  }
  const reportStrays = async (now: LoadedConfig): Promise<void> => {
    if (now.plugins.size === 0 && now.settings.enabled_plugins.length === 0) return
    const sources = await pluginSources(config.bundled, now)
    report(strayPlugins(now, namesOf(sources)))
  }
  report(live.current().problems)
  await reportStrays(live.current())
  if (config.makesStateDir !== false) holdPlace(live.daemon.stateDir)
  daemon = await startDaemon({
    settings: live.daemon,
    sources: () => pluginSources(config.bundled, live.current()),
    configure: manifest => {
      const { raw, problems } = configurePlugin(live.current(), manifest)
      report(problems)
      return raw
    },
    ports: [
      [CONFIG_RELOAD.id, live],
      [SECRETS.id, createSecrets(live.current().environment)],
    ],
    shelf: join(PACKAGE_DIR, 'dist', 'shelf'),
    watched: [
      ...(config.bundled ?? [existsSync(PACKED_DIR) ? PACKED_DIR : COMPILED_DIR]),
      ...live.current().settings.plugin_dirs,
    ],
    streamStalledMs: config.streamStalledMs,
    pluginLimitMs: config.pluginLimitMs,
    log,
  })
  if (live.current().settings.run_db !== '' && daemon.host.current.port(RUN_STORE)?.isDurable !== true)
    log.warn({ key: 'run_db' }, NOBODY_KEEPS_RUNS)
  return Object.assign(daemon, { config: live, log })
}

/** What does not exist cannot be hidden: a command could make the directory, and leave in it what a later start reads. */
function holdPlace(stateDir: string): void {
  try {
    mkdirSync(stateDir, { mode: 0o700 })
  } catch {
    // It is there, or nobody with the rights of this daemon can make it.
  }
}

const NOBODY_KEEPS_RUNS =
  'run_db is set, but no plugin keeps runs in it: they end with this process, and no API key is asked for. ' +
  'Install one (plugins/sqlite ships) or take the setting away'

/** Every folder that holds a plugin, as they are now, with which of them are switched off. */
export async function pluginSources(
  bundled: readonly string[] | undefined,
  loaded: LoadedConfig,
): Promise<readonly PluginSource[]> {
  const { settings } = loaded
  const found = await Promise.all([
    ...(bundled?.map(dir => foldersOf(dir, 'bundled')) ?? [bundledPlugins()]),
    ...settings.plugin_dirs.map(dir => foldersOf(dir, 'configured')),
  ])
  return found.flat().map(source => (loaded.isPluginEnabled(source.name) ? source : { ...source, isOff: true }))
}

/** The names of plugins, for `strayPlugins`. */
export const namesOf = (sources: readonly PluginSource[]): readonly string[] => sources.map(({ name }) => name)

const ENTRY = /^index\.[jt]s$/

/** A directory of plugins, or one plugin's own folder. */
async function foldersOf(dir: string, origin: PluginSource['origin']): Promise<readonly PluginSource[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((cause: unknown) => {
    const hint = dir.includes(':') ? '; directories are separated by commas' : ''
    throw new Error(`the plugin directory ${dir} cannot be read: ${messageOf(cause)}${hint}`, { cause })
  })
  if (entries.some(({ name }) => ENTRY.test(name))) return [{ name: basename(dir), dir, origin }]
  const folders = entries.filter(
    entry => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules',
  )
  return folders.map(({ name }) => ({ name, dir: join(dir, name), origin }))
}
