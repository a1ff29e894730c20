import { readFile, writeFile } from 'node:fs/promises'

const BEGIN = '<!-- bench -->'
const END = '<!-- /bench -->'

/** Puts a table between the two bench marks of a README; rejects when they are not there. */
export async function writeReadme(path: string, table: string): Promise<void> {
  const text = await readFile(path, 'utf8')
  const from = text.indexOf(BEGIN)
  const to = text.indexOf(END)
  if (from < 0 || to < from) throw new Error(`${path} has no lines ${BEGIN} and ${END}; add them where the table goes`)
  await writeFile(path, `${text.slice(0, from)}${BEGIN}\n\n${table}\n\n${text.slice(to)}`)
}
