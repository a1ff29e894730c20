import type { CliEnvironment, ConfigOptions } from './environment.js'
import { plainLine } from './render/plain-text.js'
import { table } from './render/table.js'

/** Prints the effective configuration; what was wrong with it goes to stderr. */
export async function showConfig(
  environment: CliEnvironment,
  options: ConfigOptions & { readonly json?: boolean },
): Promise<number> {
  const view = await environment.loadConfig(options)
  if (options.json) {
    environment.stdout.write(`${JSON.stringify({ settings: view.entries, problems: view.problems }, undefined, 2)}\n`)
    return 0
  }
  const rows = view.entries.map(({ key, value, source }) => [key, value === '' ? '-' : value, source])
  environment.stdout.write(table(['SETTING', 'VALUE', 'SOURCE'], rows))
  for (const problem of view.problems) environment.stderr.write(`! ${plainLine(problem)}\n`)
  return 0
}
