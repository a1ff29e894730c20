import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Booted, type BootOptions, boot, type Reply } from './boot.js'

/** Files of a plugin folder by path. */
export type Folder = Readonly<Record<string, string>>

export interface ReloadBenchOptions extends Omit<BootOptions, 'bundled' | 'configFile'> {
  /** Bundled plugins to leave out from the start. */
  readonly without?: readonly string[]
  /** Plugins to put beside the bundled ones. */
  readonly plugins?: Readonly<Record<string, Folder>>
  /** Text of the configuration file. */
  readonly config?: string
}

/** A row of `GET /v1/plugins`. */
export interface PluginRow {
  readonly name: string
  readonly state: string
  readonly generation?: string
  readonly adds: Readonly<Record<string, readonly string[]>>
  readonly last_error?: string
}

/** A daemon on a copy of the bundled plugins, which the test may edit while it runs. */
export interface ReloadBench extends Booted {
  /** Where the copy is. */
  readonly plugins: string
  write(plugin: string, folder: Folder): Promise<void>
  edit(plugin: string, file: string, from: string, to: string): Promise<void>
  remove(plugin: string): Promise<void>
  /** Replaces the text of the configuration file. */
  configure(text: string): Promise<void>
  /** `POST /v1/config/reload`. */
  reload(): Promise<Reply>
  rows(): Promise<readonly PluginRow[]>
  row(plugin: string): Promise<PluginRow | undefined>
}

const BUNDLED = resolve(import.meta.dirname, '../../plugins')

export async function bootOnCopy(options: ReloadBenchOptions = {}): Promise<ReloadBench> {
  const home = await mkdtemp(join(tmpdir(), 'runwright-copy-'))
  const plugins = join(home, 'plugins')
  const configFile = join(home, 'config.toml')
  await cp(BUNDLED, plugins, { recursive: true, filter: path => !/\.test\.|\.map$|\.d\.ts$/.test(path) })
  const folderOf = (plugin: string) => join(plugins, plugin)
  const write = async (plugin: string, folder: Folder): Promise<void> => {
    for (const [file, text] of Object.entries(folder)) {
      const path = join(folderOf(plugin), file)
      await mkdir(dirname(path), { recursive: true })
      // As editors save: a watching daemon never sees half of it.
      await writeFile(`${path}~`, text)
      await rename(`${path}~`, path)
    }
  }
  const remove = (plugin: string) => rm(folderOf(plugin), { recursive: true, force: true })
  for (const plugin of options.without ?? []) await remove(plugin)
  for (const [plugin, folder] of Object.entries(options.plugins ?? {})) await write(plugin, folder)
  await writeFile(configFile, options.config ?? '')
  const { without, plugins: added, config, ...rest } = options
  const booted = await boot({ ...rest, bundled: [plugins], configFile }).catch(async (error: unknown) => {
    await rm(home, { recursive: true, force: true })
    throw error
  })
  const rows = async (): Promise<readonly PluginRow[]> => (await booted.request('GET', '/v1/plugins')).body.plugins
  return {
    ...booted,
    plugins,
    write,
    remove,
    edit: async (plugin, file, from, to) => {
      const path = join(folderOf(plugin), file)
      const text = await readFile(path, 'utf8')
      if (!text.includes(from)) throw new Error(`${plugin}/${file} does not hold ${from}`)
      await writeFile(path, text.replace(from, to))
    },
    configure: text => writeFile(configFile, text),
    reload: () => booted.request('POST', '/v1/config/reload'),
    rows,
    row: async plugin => (await rows()).find(({ name }) => name === plugin),
    stop: async () => {
      await booted.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}
