import type { Folder } from './reload-bench.js'

/**
 * A plugin that says its word through everything a run touches: provider, prompt, tool (with a late import), hook and a
 * route. A run with `provider_name: 'probe'` calls the tool once per turn for `TURNS` turns and answers with the JSON of
 * all words it met: one word in there means one generation. `globalThis.probeGate`, when set, holds the turn after the
 * first.
 */
export const probePlugin = (word: string): Folder => ({
  'word.js': `export const word = '${word}'\n`,
  'late.js': `export const late = '${word}'\n`,
  'client.js': CLIENT,
  'index.js': INDEX,
})

/** Turns of a run of the probe before it answers. */
export const PROBE_TURNS = 3

/** The words in the output of a run of the probe, each once. */
export const wordsIn = (output: unknown): readonly string[] => [...new Set(JSON.parse(String(output)) as string[])]

const CLIENT = `import { word } from './word.js'

const TURNS = ${PROBE_TURNS}
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }

export const client = {
  provider: 'probe',
  async answer(request, sink, signal) {
    const results = request.messages.filter(({ role }) => role === 'tool')
    const aborted = new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    if (results.length > 0 && !signal.aborted) await Promise.race([globalThis.probeGate, aborted])
    if (signal.aborted) return { kind: 'failed', failure: { category: 'cancelled', message: 'cancelled' } }
    sink.part({ kind: 'text', text: word })
    await sink.drained()
    if (results.length < TURNS) {
      const toolCalls = [{ id: 'call_' + results.length, name: 'probe', arguments: '{}' }]
      return { kind: 'answered', text: word, toolCalls, usage, finish: 'tool_calls' }
    }
    const heard = results.flatMap(({ content }) => String(content).match(/<[^>]*>/g) ?? ['<nothing>'])
    const told = request.system.match(/<[^>]*>/g) ?? ['<no prompt>']
    const text = JSON.stringify([...heard, ...told, '<' + word + '>'])
    return { kind: 'answered', text, toolCalls: [], usage, finish: 'stop' }
  },
}
`

const INDEX = `import { Type } from '@sinclair/typebox'
import { definePlugin } from 'runwright/contracts'
import { client } from './client.js'
import { word } from './word.js'

export const plugin = definePlugin({
  name: 'probe',
  config: Type.Object({ note: Type.String({ default: '' }) }),
  honours: ['provider_name'],
  register(scope) {
    scope.tap('providerResolving', async ({ provider_name }) =>
      provider_name === 'probe' ? [{ provider: 'probe', model: 'probe-' + word, client }] : undefined, { stage: -2000 })
    scope.tap('promptComposing', async prompt =>
      ({ ...prompt, sections: [...prompt.sections, { name: 'PROBE', text: '<' + word + '>' }] }))
    scope.tool({
      name: 'probe',
      description: 'Says its word.',
      parameters: Type.Object({}),
      action: 'read',
      execute: async () => ({ output: '<' + word + '><' + (await import('./late.js')).late + '>' }),
    })
    scope.tap('toolAnswered', async (answer, { tool }) =>
      tool.name === 'probe' ? { ...answer, result: { output: answer.result.output + '<' + word + '>' } } : answer)
    scope.routes(async app => {
      app.get('/v1/probe', { config: { scope: 'runs:read' } }, async () => ({ word, note: scope.config.note }))
    })
  },
})
`
