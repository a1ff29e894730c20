import { isTable, type Table } from './file.js'
import { NOT_SHOWN, type Problem, refused, shown } from './problem.js'

/** A plugin's part of the configuration, `[plugins.<name>]`. */
export interface PluginSection {
  /** Undefined: nobody said. */
  readonly enabled?: boolean
  readonly section: Table
  /** The files it comes from, lowest layer first. */
  readonly files: readonly string[]
}

const PLUGIN_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/
const MOST_PLUGINS = 1000
const MOST_REFUSED = 50

/** Lays a file's `plugins` table over the sections that are there. A workspace file configures no plugin. */
export function layPluginSections(
  sections: Map<string, PluginSection>,
  problems: Problem[],
  given: unknown,
  file: { readonly name: string; readonly trusted: boolean },
): void {
  const refuse = (key: string, expected: string, value = NOT_SHOWN) =>
    problems.push(refused(key, file.name, value, expected))
  if (!isTable(given)) return void refuse('plugins', 'tables [plugins.<name>]')
  for (const [name, table] of Object.entries(given).slice(0, file.trusted ? MOST_PLUGINS : MOST_REFUSED)) {
    const key = `plugins.${name}`
    if (!file.trusted) refuse(key, 'to be set by the operator: a workspace file may not configure plugins')
    else if (!PLUGIN_NAME.test(name)) refuse(key, 'a plugin name in kebab-case')
    else if (!isTable(table)) refuse(key, `a table [${key}]`)
    else {
      const { enabled: wish, ...section } = table
      if (wish !== undefined && typeof wish !== 'boolean') refuse(`${key}.enabled`, 'true or false', shown(wish, false))
      const below = sections.get(name)
      const enabled = typeof wish === 'boolean' ? wish : below?.enabled
      sections.set(name, {
        ...(enabled !== undefined && { enabled }),
        section: Object.freeze({ ...below?.section, ...section }),
        files: [...(below?.files ?? []), file.name],
      })
    }
  }
}
