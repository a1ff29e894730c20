import { SETTING_ROWS } from './schema.js'
import type { Setting } from './setting.js'
import { typeText } from './value.js'

/**
 * A config file with every setting at its default, each as a comment that says what it does. `config/default.toml`
 * begins with exactly this text.
 */
export function renderDeployment(): string {
  const sections = new Map<string, string[]>()
  for (const [key, row] of SETTING_ROWS) {
    const dot = key.indexOf('.')
    const section = dot < 0 ? '' : key.slice(0, dot)
    const lines = sections.get(section) ?? []
    sections.set(section, lines)
    lines.push(...entry(key.slice(dot + 1), row))
  }
  const top = sections.get('') ?? []
  sections.delete('')
  return [
    '# Every setting at its default. Take the # away from a line to change it.',
    '# A variable of the environment wins over every file. Secrets are better set there.',
    ...top,
    ...[...sections].flatMap(([name, lines]) => ['', `[${name}]`, ...lines]),
    '',
  ].join('\n')
}

const entry = (name: string, row: Setting): string[] => [
  '',
  `# ${row.about}${row.place === undefined ? '' : ` Default: ${row.place.text}.`}`,
  `# ${row.env === undefined ? '' : `${row.env}: `}${typeText(row.type)}${row.reload === 'restart' ? '; needs a restart' : ''}`,
  `#${name} = ${JSON.stringify(row.default)}`,
]
