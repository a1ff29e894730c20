import { fileURLToPath } from 'node:url'
import type { Admission } from '#contracts/hooks'
import { definePlugin, STAGE } from '#contracts/plugin'
import { WORKSPACE_FILES } from '#contracts/ports'
import { createAgentsFileReader } from './agents-file.js'
import { checkRequest } from './check-request.js'
import { composePrompt } from './compose.js'
import { Config } from './config.js'
import { boundHandoff, openingOf } from './handoff.js'
import { LiveLibrary } from './live-library.js'

const SHIPPED = fileURLToPath(new URL('./content', import.meta.url))

/** The system prompt, composed from a folder of texts, or the request's own; and what a child run is told of its parent. */
export const plugin = definePlugin({
  name: 'prompts',
  config: Config,
  optional: [WORKSPACE_FILES],
  honours: [
    'system_prompt',
    'task_context',
    'agent_intent',
    'prompt_profile',
    'prompt_extensions',
    'parent_context_handoff',
  ],
  async register(scope) {
    const { config, log } = scope
    const files = scope.find(WORKSPACE_FILES)
    const isWatching = config.isWatching && config.promptsDir !== ''
    const live = await LiveLibrary.open(config.promptsDir || SHIPPED, { isWatching, log, now: Date.now })
    const { intents } = await live.current()
    if (config.defaultIntent && !intents.has(config.defaultIntent))
      log.warn(
        { intent: config.defaultIntent, known: [...intents.keys()] },
        'SVC_DEFAULT_AGENT_INTENT names no intent of the catalog; its own default is used',
      )

    // Late, when profiles have filled in what the request leaves open.
    scope.tap(
      'runAdmitting',
      async admission => {
        const library = await live.current()
        checkRequest(admission.request, library)
        return withHandoff(admission, library.intents.has('subagent'))
      },
      { stage: STAGE.late },
    )

    const agentsFileOf = files && createAgentsFileReader(files)
    scope.tap('promptComposing', async (prompt, run) => {
      const { request, model } = run
      if (request.system_prompt?.trim()) return { ...prompt, verbatim: request.system_prompt }
      const agentsFile = agentsFileOf ? await agentsFileOf(run.workspace) : { text: '' }
      const composed = composePrompt(prompt, {
        request,
        model,
        library: await live.current(),
        systemPrompt: config.systemPrompt,
        defaultIntent: config.defaultIntent,
        agentsFile: agentsFile.text,
      })
      return agentsFile.warning ? { ...composed, warnings: [...composed.warnings, agentsFile.warning] } : composed
    })
  },
})

function withHandoff(admission: Admission, hasSubagentIntent: boolean): Admission {
  const { request } = admission
  if (!request.parent_context_handoff) return admission
  const handoff = boundHandoff(request.parent_context_handoff)
  const isPlain = !request.agent_intent && !request.system_prompt?.trim()
  const isChild = handoff.parent_run_id !== '' && isPlain && hasSubagentIntent
  return {
    ...admission,
    opening: openingOf(admission.opening ?? request.prompt, handoff),
    request: { ...request, parent_context_handoff: handoff, ...(isChild && { agent_intent: 'subagent' }) },
  }
}
