import { readFile, writeFile } from 'node:fs/promises'

const BEGIN = '<!-- bench -->'
const END = '<!-- /bench -->'

/** What most people want to know first. */
const FIRST = [
  'cold start to /healthz, ms',
  'idle memory (RSS), MB',
  'one turn, p50, ms',
  'runs/s, 64 at once, /s',
  'events/s, 50 readers, /s',
  'memory per held run, 256 held, MB',
  'reload of one plugin among 20, p50, ms',
]
const COLUMNS = ['figure', 'ours', 'floor-daemon', 'ours / floor']

/** Puts a table between the two bench marks of a README; rejects when they are not there. */
export async function writeReadme(path: string, table: string): Promise<void> {
  const text = await readFile(path, 'utf8')
  const from = text.indexOf(BEGIN)
  const to = text.indexOf(END)
  if (from < 0 || to < from) throw new Error(`${path} has no lines ${BEGIN} and ${END}; add them where the table goes`)
  await writeFile(path, `${text.slice(0, from)}${BEGIN}\n\n${folded(table)}\n\n${text.slice(to)}`)
}

/** A rendered table with its first figures on top and the rest behind a click. */
export function folded(table: string): string {
  const [machine = '', ...lines] = table.split('\n')
  const [head = [], , ...rows] = lines.filter(line => line.startsWith('|')).map(cellsOf)
  const wanted = COLUMNS.map(column => head.indexOf(column))
  const first = rows.filter(([title = '']) => FIRST.includes(title)).map(row => wanted.map(column => row[column] ?? ''))
  return [
    ...[COLUMNS, COLUMNS.map(() => '---'), ...first].map(cells => `| ${cells.join(' | ')} |`),
    '',
    machine,
    '',
    '<details>',
    '<summary>Every figure, with its goal</summary>',
    '',
    ...lines.slice(lines.findIndex(line => line.startsWith('|'))),
    '',
    '</details>',
  ].join('\n')
}

const cellsOf = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map(cell => cell.trim())
