import { join } from 'node:path'
import { Failure } from '#contracts/errors'
import type { DaemonSettings } from '#contracts/settings'
import { daemonSettings } from './daemon-settings.js'
import { readToml, type Table } from './file.js'
import { type Layers, layEnvironment, layFile, type Source, startLayers } from './layer.js'
import { absolute, operatorDirectory, settlePaths, workspaceDirectory } from './paths.js'
import type { PluginSection } from './plugin-section.js'
import type { Problem } from './problem.js'
import { SETTING_ROWS, type SettingKey, type Settings } from './schema.js'
import type { Environment } from './secrets.js'

/** What a load goes by. Nothing is read from the process itself, so a reload sees what the start saw. */
export interface LoadOptions {
  /** From `takeEnvironment`. */
  readonly environment: Environment
  /** Relative paths start here. */
  readonly cwd: string
  /** The home directory of the daemon's user. */
  readonly home: string
  /** `--profile`: a name, not a path. */
  readonly profile?: string
  /** `--config`: a TOML file. */
  readonly configFile?: string
  /** The highest layer: flags of the command line, or the program that embeds the daemon. */
  readonly overrides?: Partial<Settings>
}

/** The configuration in force. Frozen; a reload makes a new one. */
export interface LoadedConfig {
  readonly settings: Settings
  readonly daemon: DaemonSettings
  /** What was not taken, lowest layer first. Worth a warning each; none is a reason not to start. */
  readonly problems: readonly Problem[]
  /** Files that were read, lowest layer first. */
  readonly files: readonly string[]
  readonly plugins: ReadonlyMap<string, PluginSection>
  readonly environment: Environment
  sourceOf(key: SettingKey): Source
  /** Is a plugin of this name to be loaded? */
  isPluginEnabled(name: string): boolean
}

/**
 * Reads every layer, lowest first: defaults, `~/.runwright/config.toml`, `<workspace>/.runwright/config.toml`, the
 * profile, the `--config` file, the environment, the overrides. Fails with `invalid_request` when a file is malformed or
 * unreadable, or when the profile or the `--config` file does not exist.
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const files = await readFiles(options)
  const layers = startLayers()
  for (const { table, source, isTrusted } of files) layFile(layers, table, source, isTrusted)
  layEnvironment(layers, options.environment)
  layOverrides(layers, options.overrides)
  settlePaths(layers.values, options)
  const settings = Object.freeze(Object.fromEntries(layers.values)) as unknown as Settings
  return Object.freeze({
    settings,
    daemon: daemonSettings(settings, options.home),
    problems: Object.freeze(layers.problems),
    files: Object.freeze(files.map(({ source }) => source.name)),
    plugins: layers.plugins,
    environment: options.environment,
    sourceOf: (key: SettingKey) => layers.sources.get(key) as Source,
    isPluginEnabled: (name: string) =>
      layers.plugins.get(name)?.enabled ??
      (settings.enabled_plugins.length === 0 || settings.enabled_plugins.includes(name)),
  })
}

interface ReadFile {
  readonly table: Table
  readonly source: Source
  readonly isTrusted: boolean
}

async function readFiles(options: LoadOptions): Promise<ReadFile[]> {
  const { home, cwd } = options
  const user = await readLayer('user', join(operatorDirectory(home), 'config.toml'), true)
  const given = options.configFile === undefined ? undefined : absolute(options.configFile, { cwd, home })
  const config = given === undefined ? undefined : await readLayer('config', given, true)
  if (given !== undefined && config === undefined)
    throw new Failure('invalid_request', `there is no configuration file ${given}, which --config names`)
  const operators = [user, config].filter(file => file !== undefined)
  // A profile may move the workspace, but only one that does not lie in it.
  const found = options.profile
    ? await (await import('./profile.js')).findProfile(options.profile, home, () => workspaceOf(operators, options))
    : undefined
  const profile = found && (await readLayer('profile', found.path, found.isTrusted))
  const layered = [user, profile?.isTrusted ? profile : undefined, config].filter(file => file !== undefined)
  const project = join(workspaceDirectory(workspaceOf(layered, options)), 'config.toml')
  const ofProject = project === user?.source.name ? undefined : await readLayer('project', project, false)
  return [user, ofProject, profile, config].filter(file => file !== undefined)
}

async function readLayer(layer: Source['layer'], path: string, isTrusted: boolean): Promise<ReadFile | undefined> {
  const table = await readToml(path)
  return table && { table, source: { layer, name: path }, isTrusted }
}

/** The workspace as everything but the workspace's own files has it. */
function workspaceOf(files: readonly ReadFile[], options: LoadOptions): string {
  const layers = startLayers()
  for (const { table, source, isTrusted } of files) layFile(layers, table, source, isTrusted)
  layEnvironment(layers, options.environment)
  layOverrides(layers, options.overrides)
  return absolute(String(layers.values.get('workspace')), options)
}

function layOverrides(layers: Layers, overrides: Partial<Settings> = {}): void {
  for (const [key] of SETTING_ROWS) {
    const value = overrides[key]
    if (value === undefined) continue
    layers.values.set(key, value)
    layers.sources.set(key, { layer: 'command line', name: 'command line' })
  }
}
