import { Kind, type TSchema } from '@sinclair/typebox'
import { isTable, type Table } from './file.js'
import type { LoadedConfig } from './load.js'
import { type Problem, unknownKey, unknownPlugin, wrongValue } from './problem.js'
import { type SettingKey, settingOf } from './schema.js'
import { fits, parseText } from './value.js'

/** What a plugin's schema is to be checked against. Defaults of the schema are not filled in yet. */
export interface PluginConfig {
  readonly raw: unknown
  readonly problems: readonly Problem[]
}

/**
 * A plugin's configuration from the annotations of its schema: a daemon setting, over it the plugin's section of the
 * config files, over that an environment variable. A value of the wrong type is a problem and the layer below keeps its
 * say; so is a key of the section that the schema does not have. A variable set to nothing counts as absent.
 */
export function configurePlugin(
  loaded: LoadedConfig,
  manifest: { readonly name: string; readonly config: TSchema },
): PluginConfig {
  const part = loaded.plugins.get(manifest.name)
  const problems: Problem[] = []
  const place = { loaded, problems, file: part?.files.at(-1) ?? 'config file' }
  const section = part?.section ?? {}
  const raw =
    manifest.config[Kind] === 'Object' ? fill(manifest.config, section, `plugins.${manifest.name}`, place) : section
  return { raw, problems }
}

/** What the configuration says of plugins that are not there: their sections, and names in `enabled_plugins`. */
export function strayPlugins(loaded: LoadedConfig, installed: Iterable<string>): readonly Problem[] {
  const names = new Set(installed)
  const keys = [...names].map(name => `plugins.${name}`)
  const problems: Problem[] = []
  for (const [name, { files }] of loaded.plugins)
    if (!names.has(name)) problems.push(unknownPlugin(`plugins.${name}`, files.at(-1) ?? 'config file', keys))
  const source = loaded.sourceOf('enabled_plugins').name
  for (const name of loaded.settings.enabled_plugins)
    if (!names.has(name)) problems.push(unknownPlugin(`enabled_plugins: ${name}`, source, [...names], name))
  return problems
}

interface Place {
  readonly loaded: LoadedConfig
  readonly problems: Problem[]
  readonly file: string
}

function fill(schema: TSchema, section: Table, path: string, place: Place): Table {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, TSchema>>
  const filled: Record<string, unknown> = {}
  for (const [name, type] of Object.entries(properties)) {
    const given = Object.hasOwn(section, name) ? section[name] : undefined
    const value = propertyValue(type, given, `${path}.${name}`, place)
    if (value !== undefined) filled[name] = value
  }
  for (const [name, value] of Object.entries(section)) {
    if (Object.hasOwn(properties, name)) continue
    if (schema.additionalProperties === undefined || schema.additionalProperties === false)
      place.problems.push(
        unknownKey(
          `${path}.${name}`,
          place.file,
          Object.keys(properties).map(key => `${path}.${key}`),
        ),
      )
    else filled[name] = value
  }
  return filled
}

function propertyValue(type: TSchema, given: unknown, path: string, place: Place): unknown {
  const { loaded, problems, file } = place
  const row = { type, secret: type.secret === true }
  let value = type.setting === undefined ? undefined : fromSetting(type, path, place)
  if (isTable(given) && type[Kind] === 'Object') value = fill(type, given, path, place)
  else if (given !== undefined && fits(type, given)) value = given
  else if (given !== undefined) problems.push(wrongValue(path, row, file, given))
  else if (type[Kind] === 'Object' && value === undefined) {
    const filled = fill(type, {}, path, place)
    if (Object.keys(filled).length > 0) value = filled
  }
  const text = type.env === undefined ? undefined : variable(loaded, type.env)
  if (type.env === undefined || text === undefined || text === '') return value
  const parsed = parseText(type, text)
  if (parsed === undefined) problems.push(wrongValue(path, row, type.env, text))
  return parsed ?? value
}

function fromSetting(type: TSchema, path: string, { loaded, problems }: Place): unknown {
  const key = type.setting ?? ''
  const row = settingOf(key)
  if (row === undefined) {
    problems.push(unknownKey(key, `${path}, schema of the plugin`, Object.keys(loaded.settings)))
    return undefined
  }
  const value: unknown = loaded.settings[key as SettingKey]
  if (fits(type, value)) return value
  const source = loaded.sourceOf(key as SettingKey).name
  problems.push(wrongValue(path, { type, secret: type.secret === true || row.secret }, source, value))
  return undefined
}

const variable = ({ environment }: LoadedConfig, name: string): string | undefined =>
  Object.hasOwn(environment, name) ? environment[name] : undefined
