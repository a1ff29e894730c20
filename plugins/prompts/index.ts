import { fileURLToPath } from 'node:url'
import { definePlugin, STAGE } from '#contracts/plugin'
import { PROFILES, RECORDS, SKILLS, WORKSPACE_FILES } from '#contracts/ports'
import { admitPrompt } from './admission.js'
import { createAgentsFileReader } from './agents-file.js'
import { composePrompt } from './compose.js'
import { Config } from './config.js'
import { createExtensionTool } from './create-extension-tool.js'
import { LiveLibrary } from './live-library.js'
import { OwnExtensions, withOwn } from './own-extensions.js'
import { resolveSkills } from './skills.js'

const SHIPPED = fileURLToPath(new URL('./content', import.meta.url))

/** The system prompt, composed from a folder of texts, or the request's own; and what a child run is told of its parent. */
export const plugin = definePlugin({
  name: 'prompts',
  config: Config,
  needs: [RECORDS],
  optional: [WORKSPACE_FILES, SKILLS, PROFILES],
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
    const isWatching = config.watch && config.prompts_dir !== ''
    const live = await LiveLibrary.open(config.prompts_dir || SHIPPED, { isWatching, log, now: Date.now })
    const { intents } = await live.current()
    if (config.default_intent && !intents.has(config.default_intent))
      log.warn(
        { intent: config.default_intent, known: [...intents.keys()] },
        'SVC_DEFAULT_AGENT_INTENT names no intent of the catalog; its own default is used',
      )

    const own = new OwnExtensions(scope.use(RECORDS))
    const sources = { library: () => live.current(), own, profiles: scope.find(PROFILES) }
    scope.tool(createExtensionTool(own, sources.library))
    // Late, when profiles have filled in what the request leaves open.
    scope.tap('runAdmitting', admission => admitPrompt(admission, sources), { stage: STAGE.late })

    const files = scope.find(WORKSPACE_FILES)
    const agentsFileOf = files && createAgentsFileReader(files)
    const skills = scope.find(SKILLS)
    scope.tap('promptComposing', async (prompt, run) => {
      const { request, model } = run
      if (request.system_prompt?.trim()) return { ...prompt, verbatim: request.system_prompt }
      const [agentsFile, library, resolved] = await Promise.all([
        agentsFileOf ? agentsFileOf(run.workspace) : { text: '' },
        live.current().then(found => withOwn(found, own, run.tenantId, request.prompt_extensions)),
        resolveSkills(run, skills),
      ])
      return composePrompt(prompt, {
        request,
        model,
        library,
        systemPrompt: config.system_prompt,
        defaultIntent: config.default_intent,
        agentsFile,
        skills: resolved,
      })
    })
  },
})
