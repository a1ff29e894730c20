import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { PluginLog } from '#contracts/plugin'
import { PluginHost } from '#kernel/host/host'
import type { HostOptions, PluginSource } from '#kernel/host/host-options'
import { composeTestApp, type TestApp } from './compose-app.js'

/** Files of a plugin folder by path; `index.js` or `index.ts` is the entry. */
export type Folder = Readonly<Record<string, string>>

export interface LogLine {
  readonly level: string
  readonly facts: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A real host over plugin folders that the test writes, inside the package so that `#contracts/...` resolves. */
export interface HostBench {
  readonly host: PluginHost
  readonly dir: string
  readonly logged: readonly LogLine[]
  /** Raw config by plugin; change it between syncs. */
  readonly configs: Map<string, unknown>
  /** Folders to load besides the written ones. */
  readonly extraSources: PluginSource[]
  write(plugin: string, folder: Folder): Promise<void>
  edit(plugin: string, file: string, from: string, to: string): Promise<void>
  remove(plugin: string): Promise<void>
  /** GET on the current epoch's app, or another's. */
  get(url: string, app?: TestApp): Promise<unknown>
  close(): Promise<void>
}

export async function createHostBench(
  plugins: Readonly<Record<string, Folder>>,
  options: Partial<HostOptions> = {},
): Promise<HostBench> {
  const dir = resolve(import.meta.dirname, '../..', `bench-${process.pid}-${randomBytes(4).toString('hex')}`)
  const names = new Set<string>()
  const logged: LogLine[] = []
  const configs = new Map<string, unknown>()
  const extraSources: PluginSource[] = []
  const folderOf = (plugin: string) => join(dir, 'plugins', plugin)
  const write = async (plugin: string, folder: Folder): Promise<void> => {
    names.add(plugin)
    for (const [file, text] of Object.entries(folder)) {
      const path = join(folderOf(plugin), file)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    }
  }
  for (const [name, folder] of Object.entries(plugins)) await write(name, folder)
  const host = new PluginHost({
    sources: async () => [
      ...[...names].map(name => ({ name, dir: folderOf(name), origin: 'configured' as const })),
      ...extraSources,
    ],
    configure: ({ name }) => configs.get(name) ?? {},
    shelf: join(dir, 'shelf'),
    kernelPorts: new Map(),
    compose: composeTestApp,
    log: recordingLog(logged),
    ...options,
  })
  return {
    host,
    dir,
    logged,
    configs,
    extraSources,
    write,
    edit: async (plugin, file, from, to) => {
      const path = join(folderOf(plugin), file)
      await writeFile(path, (await readFile(path, 'utf8')).replace(from, to))
    },
    remove: async plugin => {
      names.delete(plugin)
      await rm(folderOf(plugin), { recursive: true, force: true })
    },
    get: async (url, app = host.current.app as TestApp) => (await app.fastify.inject({ url })).json(),
    close: async () => {
      await host.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** The text of a plugin's entry: `body` is what its `register(scope)` does. */
export const entry = (name: string, body: string, { head = '', manifest = '' } = {}): string => `
import { Type } from '@sinclair/typebox'
import { definePlugin, port } from '#contracts/plugin'
${head}
export const plugin = definePlugin({
  name: '${name}',
  config: Type.Object({}),
  ${manifest}
  async register(scope) {
    ${body}
  },
})
`

function recordingLog(lines: LogLine[]): PluginLog {
  const at = (level: string) => (facts: object, message: string) => {
    lines.push({ level, facts: { ...facts }, message })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
