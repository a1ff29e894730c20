import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { RECORDS } from '#contracts/ports'
import { WorkingMemory } from './memory.js'
import { forgetSnippet, snippetFor } from './snippet.js'
import { createWorkingMemoryTool } from './working-memory-tool.js'

/** The tool `working_memory`, and its notes before every turn. */
export const plugin = definePlugin({
  name: 'working-memory',
  config: Type.Object({}),
  needs: [RECORDS],
  register(scope) {
    const memory = new WorkingMemory(scope.use(RECORDS))
    scope.tool(createWorkingMemoryTool(memory))
    // Read while the rest of the run is made ready; whoever needs it hears of a failure.
    scope.tap('promptComposing', async (prompt, run) => {
      snippetFor(run, memory).catch(() => undefined)
      return prompt
    })
    // The first of the trailing messages: it changes least.
    scope.tap(
      'turnRequesting',
      async (request, run) => {
        const content = await snippetFor(run, memory).catch((error: unknown) => {
          forgetSnippet(run)
          scope.log.warn({ run: run.id, error: String(error) }, 'working memory could not be read')
          return undefined
        })
        if (content === undefined) return request
        return { ...request, trailing: [...request.trailing, { role: 'system', content, is_meta: true }] }
      },
      { stage: STAGE.early },
    )
  },
})
