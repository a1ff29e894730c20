import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PluginManifest } from '#contracts/plugin'

/** The manifest of a compiled plugin, read where it is installed. */
export const manifestOf = async ({ dir }: { readonly dir: string }): Promise<PluginManifest> =>
  ((await import(pathToFileURL(join(dir, 'index.js')).href)) as { plugin: PluginManifest }).plugin
