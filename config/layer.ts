import { isTable, type Table } from './file.js'
import { layPluginSections, type PluginSection } from './plugin-section.js'
import { type Problem, shown, unknownKey, wrongValue } from './problem.js'
import { SETTING_ROWS, type SettingKey, settingOf } from './schema.js'
import type { Environment } from './secrets.js'
import type { Setting } from './setting.js'
import { fits, isBlank, parseText } from './value.js'

/** Where the effective value of a setting comes from. */
export interface Source {
  readonly layer: 'default' | 'user' | 'project' | 'profile' | 'config' | 'environment' | 'command line'
  /** The file or variable; `default` and `command line` for these. */
  readonly name: string
}

/** Values as far as the layers seen so far have decided them. */
export interface Layers {
  readonly values: Map<SettingKey, unknown>
  readonly sources: Map<SettingKey, Source>
  readonly plugins: Map<string, PluginSection>
  readonly problems: Problem[]
}

const DEFAULT: Source = Object.freeze({ layer: 'default', name: 'default' })
const KEYS = SETTING_ROWS.map(([key]) => key)

/** The lowest layer. */
export const startLayers = (): Layers => ({
  values: new Map(
    SETTING_ROWS.map(([key, row]) => [key, Array.isArray(row.default) ? Object.freeze([...row.default]) : row.default]),
  ),
  sources: new Map(SETTING_ROWS.map(([key]) => [key, DEFAULT])),
  plugins: new Map(),
  problems: [],
})

/** Lays a file over what is there. `trusted` is false for files of a workspace: agents write there. */
export function layFile(layers: Layers, table: Table, source: Source, trusted: boolean): void {
  const before = layers.problems.length
  for (const [key, value] of flatten(table)) {
    if (key === 'plugins') layPluginSections(layers.plugins, layers.problems, value, { name: source.name, trusted })
    else if (settingOf(key) === undefined) layers.problems.push(unknownKey(key, source.name, KEYS))
    else layValue(layers, key as SettingKey, value, source, trusted)
    if (layers.problems.length - before > MOST_PROBLEMS) return void giveUp(layers, source)
  }
}

/** Lays the variables of the table over what is there, and reports names that look like a slip of one. */
export function layEnvironment(layers: Layers, environment: Environment): void {
  const known = SETTING_ROWS.flatMap(([, row]) => (row.env === undefined ? [] : [row.env]))
  for (const [key, row] of SETTING_ROWS) {
    if (row.env === undefined || !Object.hasOwn(environment, row.env)) continue
    const text = environment[row.env] ?? ''
    if (isBlank(row.type, text)) continue
    const value = parseText(row.type, text)
    if (value === undefined) layers.problems.push(wrongValue(key, row, row.env, text))
    else take(layers, key, value, { layer: 'environment', name: row.env }, 'below')
  }
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('SVC_') || known.includes(name) || CLIENT_VARIABLES.has(name)) continue
    const problem = unknownKey(name, 'environment', known)
    // A plugin may have variables of its own under this prefix, so only a likely slip is worth a word.
    if (problem.expected.includes('did you mean')) layers.problems.push(problem)
  }
}

/** Read by the command line when it talks to a daemon. */
const CLIENT_VARIABLES: ReadonlySet<string> = new Set(['SVC_URL', 'SVC_TOKEN'])

/** Keys of the table as the settings have them; an unknown one comes out as it stands. */
function* flatten(table: Table, prefix = ''): Iterable<readonly [string, unknown]> {
  for (const [name, value] of Object.entries(table)) {
    const key = prefix + name
    if (settingOf(key) === undefined && isTable(value) && isPrefix(`${key}.`)) yield* flatten(value, `${key}.`)
    else yield [key, value]
  }
}

// A workspace file may hold a hundred thousand wrong keys; looking for the nearest of each would stall the daemon.
const MOST_PROBLEMS = 50

const giveUp = (layers: Layers, source: Source): number =>
  layers.problems.push({ key: '(the rest)', source: source.name, given: '(not read)', expected: 'fewer mistakes' })

function layValue(layers: Layers, key: SettingKey, given: unknown, source: Source, trusted: boolean): void {
  const row = settingOf(key) as Setting
  const value = key === 'mcp_servers' && isTable(given) ? namedServers(given) : given
  const expected = trusted ? undefined : refusal(row, value, layers.values.get(key))
  if (!fits(row.type, value)) layers.problems.push(wrongValue(key, row, source.name, given))
  else if (expected !== undefined)
    layers.problems.push({ key, source: source.name, given: shown(given, row.secret), expected })
  else take(layers, key, value, source, 'above')
}

function refusal(row: Setting, value: unknown, below: unknown): string | undefined {
  if (row.project === 'sets' || (row.project === 'tightens' && row.tightens?.(value, below))) return undefined
  return row.project === 'tightens'
    ? 'a stricter value than the operator’s: a workspace file may not loosen it'
    : 'to be set by the operator (user file, --config or environment): a workspace file may not decide it'
}

function take(layers: Layers, key: SettingKey, value: unknown, source: Source, servers: 'above' | 'below'): void {
  const merged =
    key === 'mcp_servers' ? mergeServers(layers.values.get(key) as Server[], value as Server[], servers) : value
  layers.values.set(key, Array.isArray(merged) ? Object.freeze([...merged]) : merged)
  layers.sources.set(key, source)
}

interface Server {
  readonly name: string
}

// The spec's own rule: entries of files and of the variable are merged, and on the same name the file wins.
function mergeServers(
  present: readonly Server[],
  added: readonly Server[],
  wins: 'above' | 'below',
): readonly Server[] {
  const [low, high] = wins === 'above' ? [present, added] : [added, present]
  return [...new Map([...low, ...high].map(server => [server.name, server])).values()]
}

const namedServers = (tables: Table): unknown[] =>
  Object.entries(tables).map(([name, server]) => (isTable(server) ? { ...server, name } : server))

const isPrefix = (prefix: string): boolean => SETTING_ROWS.some(([key]) => key.startsWith(prefix))
