import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A call the prompt asks for. */
export interface ScriptedCall {
  readonly id: string
  readonly name: string
  readonly arguments?: Readonly<Record<string, unknown>>
}

/** The prompt of a run whose model makes these calls, step by step, and then says what it was told, as a JSON array. */
export const scriptedPrompt = (...steps: readonly (readonly ScriptedCall[])[]): string => JSON.stringify(steps)

/**
 * Writes the plugin `scripted` below `dir` (a directory for `plugin_dirs`): a model that follows the prompt of its run,
 * whichever process it is in, and the tools `trigger` (mutating; writes `<run> <n>` to the file `effects`) and `look`.
 */
export async function writeScriptedPlugin(dir: string): Promise<void> {
  await mkdir(join(dir, 'scripted'), { recursive: true })
  await writeFile(join(dir, 'scripted', 'index.js'), SOURCE)
}

const SOURCE = `
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'

async function answer({ messages }, sink) {
  const steps = JSON.parse(messages.find(({ role }) => role === 'user').content)
  const calls = steps[messages.filter(({ role }) => role === 'assistant').length]
  if (calls) {
    const toolCalls = calls.map(({ id, name, arguments: args = {} }) => ({ id, name, arguments: JSON.stringify(args) }))
    return { kind: 'answered', text: '', toolCalls, finish: 'tool_calls' }
  }
  const text = JSON.stringify(messages.filter(({ role }) => role === 'tool').map(({ content }) => content))
  sink.part({ kind: 'text', text })
  return { kind: 'answered', text, toolCalls: [], finish: 'stop' }
}

export const plugin = definePlugin({
  name: 'scripted',
  config: Type.Object({}),
  honours: ['model'],
  register(scope) {
    const candidate = { provider: 'scripted', model: 'scripted', client: { provider: 'scripted', answer } }
    scope.tap('providerResolving', async () => [candidate], { stage: STAGE.first - 1 })
    scope.tool({
      name: 'trigger', description: 'Has an effect.', parameters: Type.Object({ n: Type.Integer() }), action: 'write',
      async execute({ n }, { run, workspace }) {
        await appendFile(join(workspace.root, 'effects'), run.id + ' ' + n + '\\n')
        return { output: 'pulled ' + n }
      },
    })
    scope.tool({
      name: 'look', description: 'Has none.', parameters: Type.Object({}), action: 'read',
      async execute() { return { output: 'seen' } },
    })
  },
})
`
