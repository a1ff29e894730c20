import { resolve } from 'node:path'
import type { CliEnvironment } from './environment.js'
import { createPaint } from './render/paint.js'
import { plainText } from './render/plain-text.js'

/** Runs the contract kit on a folder and prints a line per case; 1 when one fails. */
export async function checkPluginFolder(
  environment: CliEnvironment,
  directory: string,
  options: { readonly json?: boolean },
): Promise<number> {
  const report = await environment.checkPlugin(resolve(environment.cwd, directory))
  const failed = report.cases.filter(entry => entry.error !== undefined).length
  if (options.json) environment.stdout.write(`${JSON.stringify({ ok: failed === 0, ...report }, undefined, 2)}\n`)
  else {
    const paint = createPaint(environment.isTty.stdout && !environment.isColourOff)
    for (const { name, error } of report.cases) {
      const text = error === undefined ? '' : `\n${plainText(error).replace(/^/gm, '    ')}`
      environment.stdout.write(`${error === undefined ? paint.green('✓') : paint.red('✗')} ${name}${text}\n`)
    }
    const verdict =
      failed === 0 ? 'keeps the contract' : `breaks the contract in ${failed} of ${report.cases.length} cases`
    environment.stdout.write(`${report.plugin} ${verdict}\n`)
  }
  return failed === 0 ? 0 : 1
}
