import type { PluginManifest, Port } from '#contracts/plugin'
import { pluginFault } from './fault.js'
import type { PluginSource } from './host-options.js'

/** The manifest a plugin's entry exports, or a fault that says what is missing. */
export function checkManifest(exported: object, { name, dir }: PluginSource): PluginManifest {
  const manifest = (exported as { plugin?: Partial<PluginManifest> | null }).plugin
  if (typeof manifest !== 'object' || manifest === null)
    throw pluginFault(
      name,
      `exports no plugin: its index in ${dir} must say "export const plugin = definePlugin({ ... })"`,
    )
  if (manifest.name !== name)
    throw pluginFault(
      name,
      `calls itself "${String(manifest.name)}": the name in its manifest and its folder ${dir} must be the same`,
    )
  if (typeof manifest.config !== 'object' || manifest.config === null)
    throw pluginFault(name, 'has no config schema: give it "config: Type.Object({})"')
  if (typeof manifest.register !== 'function') throw pluginFault(name, 'has no register function')
  for (const key of ['needs', 'optional', 'provides', 'contributes', 'gathers'] as const)
    if (manifest[key] !== undefined && !(Array.isArray(manifest[key]) && manifest[key].every(isPort)))
      throw pluginFault(
        name,
        `has something in "${key}" that is no ${key === 'contributes' || key === 'gathers' ? 'gathering' : 'port'}`,
      )
  return manifest as PluginManifest
}

const isPort = (value: unknown): value is Port<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Port<unknown>>).id === 'symbol'
