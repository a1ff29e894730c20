import type { LoadedConfig } from './load.js'
import { shown } from './problem.js'
import { SETTING_ROWS } from './schema.js'
import { isSecretName } from './secrets.js'
import type { Setting } from './setting.js'
import { typeText } from './value.js'

/** One line of `runwright config show`. */
export interface ShownSetting {
  readonly key: string
  /** Secrets are masked. */
  readonly value: string
  /** `default`, a file, or a variable. */
  readonly source: string
}

/** Every effective value and where it comes from, settings first, then the sections of plugins. */
export function showSettings(loaded: LoadedConfig): readonly ShownSetting[] {
  const settings = SETTING_ROWS.map(([key, row]) => ({
    key,
    value: shown(loaded.settings[key], row.secret),
    source: loaded.sourceOf(key).name,
  }))
  const plugins = [...loaded.plugins].flatMap(([name, { enabled, section, files }]) =>
    Object.entries({ ...(enabled !== undefined && { enabled }), ...section }).map(([key, value]) => ({
      key: `plugins.${name}.${key}`,
      value: shown(value, isSecretName(key) || mayHoldSecret(value)),
      source: files.at(-1) ?? '',
    })),
  )
  return [...settings, ...plugins]
}

// A nested table may name a secret at any depth; the plugin that knows is not asked here.
const mayHoldSecret = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

const START = '<!-- settings -->'
const END = '<!-- /settings -->'

/** The README's text with its table of settings as it is today. The markers must be there, in this order, once. */
export function renderSettings(readme: string): string {
  const start = readme.indexOf(START)
  const end = readme.indexOf(END, start)
  if (start < 0 || end < 0) throw new Error(`the text has no ${START} … ${END}`)
  return `${readme.slice(0, start + START.length)}\n\n${settingsTable()}\n${readme.slice(end)}`
}

/** The table of all settings in Markdown. */
export function settingsTable(): string {
  const rows = SETTING_ROWS.map(([key, row]) => [
    `\`${key}\``,
    row.env === undefined ? 'config file only' : `\`${row.env}\``,
    cell(typeText(row.type)),
    cell(defaultText(row)),
    row.reload,
    cell(`${row.about}${row.secret ? ' Secret.' : ''}`),
  ])
  const head = ['Key in a config file', 'Variable', 'Value', 'Default', 'Reload', 'Effect']
  return [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |\n`).join('')
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

function defaultText({ default: value, place }: Setting): string {
  if (place !== undefined) return `\`${place.text}\``
  return value === '' || (Array.isArray(value) && value.length === 0)
    ? ''
    : `\`${JSON.stringify(value).replaceAll('"', '')}\``
}
