import { join } from 'node:path'
import { bundledPlugins, PACKAGE_DIR } from '../../index.js'
import type { ConfigView } from '../config-view.js'
import type { Check } from './check.js'
import { sandboxProblem } from './sandbox-problem.js'

/** Can commands be confined here, by the plugins this configuration leaves switched on? */
export async function checkSandbox({ entries, configure = () => ({}) }: ConfigView): Promise<Check> {
  const isOff = (name: string) =>
    entries.some(({ key, value }) => key === `plugins.${name}.enabled` && value === 'false')
  const plugins = (await bundledPlugins()).filter(({ name }) => !isOff(name))
  const shelf = join(PACKAGE_DIR, 'dist', 'shelf')
  const problem = await sandboxProblem({ plugins, configure, shelf }, process.cwd())
  const says = 'commands are confined to their workspace'
  return problem === undefined
    ? { name: 'sandbox', state: 'ok', says }
    : { name: 'sandbox', state: 'fail', says: problem, advice: 'until then tools that run commands are refused' }
}
