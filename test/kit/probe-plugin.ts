import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * A plugin with tools that suites need: `flood` shows much output that repeats nowhere, `mark` writes a line to the file
 * `effects` in the workspace at once and answers after `ms`.
 */
const SOURCE = `
import { randomBytes } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
export const plugin = definePlugin({
  name: 'probe',
  config: Type.Object({}),
  register(scope) {
    scope.tool({
      name: 'flood', description: 'Shows much output.', action: 'read',
      parameters: Type.Object({ pieces: Type.Integer(), bytes: Type.Integer() }),
      async execute({ pieces, bytes }, { output, signal }) {
        for (let index = 0; index < pieces; index++) {
          signal.throwIfAborted()
          await output(randomBytes(bytes / 2).toString('hex'))
          await new Promise(setImmediate)
        }
        return { output: 'shown' }
      },
    })
    scope.tool({
      name: 'mark', description: 'Writes at once and answers later.', action: 'write',
      parameters: Type.Object({ ms: Type.Integer() }),
      async execute({ ms }, { workspace, signal, callId }) {
        await appendFile(join(workspace.root, 'effects'), callId + '\\n')
        await sleep(ms, undefined, { signal })
        return { output: 'marked' }
      },
    })
  },
})
`

/** Writes the probe plugin into a folder of `dir`; the result goes into the setting `plugin_dirs`. */
export async function writeProbePlugin(dir: string): Promise<string> {
  const plugins = join(dir, 'plugins')
  await mkdir(join(plugins, 'probe'), { recursive: true })
  await writeFile(join(plugins, 'probe', 'index.js'), SOURCE)
  return plugins
}
