import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf } from '#contracts/errors'
import type { PluginManifest } from '#contracts/plugin'
import { withLimit } from '../waits.js'
import { checkManifest } from './check-manifest.js'
import { pluginAtFault, pluginFault } from './fault.js'
import type { PluginSource } from './host-options.js'
import { type PluginFiles, readPluginFiles } from './plugin-files.js'
import type { Shelf } from './shelf.js'
import { transpile } from './transpile.js'

/** A plugin's code as imported from its staged copy. */
export interface LoadedPlugin {
  readonly source: PluginSource
  readonly manifest: PluginManifest
  /** Names the code: equal for equal text. */
  readonly code: string
  readonly stagedDir: string
}

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/

/** Stages and imports plugins. Every failure is a fault that names the plugin and says what is wrong. */
export class Loader {
  /** How often an import of this text has failed. */
  readonly #failures = new Map<string, number>()

  constructor(
    readonly shelf: Shelf,
    readonly limitMs: number,
  ) {}

  async load(source: PluginSource): Promise<LoadedPlugin> {
    const { name } = source
    const dir = resolve(source.dir)
    if (!NAME.test(name)) throw pluginFault(name, 'must have a kebab-case name')
    try {
      const files = await readPluginFiles(dir)
      const attempt = this.#failures.get(files.hash) ?? 0
      const stagedDir = await this.shelf.place(name, dir, files, attempt)
      const exported = await this.#import(stagedDir, source, files)
      return { source, manifest: checkManifest(exported, source), code: files.hash, stagedDir }
    } catch (error) {
      throw pluginAtFault(error) === name
        ? error
        : pluginFault(name, `cannot be loaded from ${dir}: ${messageOf(error)}`, error)
    }
  }

  async #import(stagedDir: string, source: PluginSource, files: PluginFiles): Promise<object> {
    const entry = join(stagedDir, 'index.js')
    if (!existsSync(entry)) throw new Error('there is no index.js or index.ts')
    try {
      return await withLimit<object>(import(pathToFileURL(entry).href), this.limitMs, 'importing it')
    } catch (error) {
      this.#failures.set(files.hash, (this.#failures.get(files.hash) ?? 0) + 1)
      throw error instanceof SyntaxError ? await withLocation(error, source.dir, stagedDir, files) : error
    }
  }
}

/** Node says what is wrong with a module but not where; the compiler knows. */
async function withLocation(error: SyntaxError, sourceDir: string, stagedDir: string, files: PluginFiles) {
  const javascript = new Map([...files.contents].filter(([path]) => path.endsWith('.js')))
  try {
    await transpile(javascript, sourceDir, stagedDir)
    return error
  } catch (located) {
    return new SyntaxError(messageOf(located), { cause: error })
  }
}
