import type { Admission } from '#contracts/hooks'
import type { Profiles } from '#contracts/profiles'
import { checkRequest } from './check-request.js'
import { boundHandoff, openingOf } from './handoff.js'
import type { PromptLibrary } from './library.js'
import { type OwnExtensions, withOwn } from './own-extensions.js'

export interface PromptSources {
  readonly library: () => Promise<PromptLibrary>
  readonly own: OwnExtensions
  readonly profiles: Profiles | undefined
}

/** Refuses what the library does not have, and has a child run read what its parent hands down. */
export async function admitPrompt(admission: Admission, sources: PromptSources): Promise<Admission> {
  const { request, identity } = admission
  const { tenantId } = identity
  const library = await withOwn(await sources.library(), sources.own, tenantId, request.prompt_extensions)
  await checkRequest(request, {
    library,
    ownNames: kind => sources.own.names(tenantId, kind),
    isCapabilityProfile: async name => (await sources.profiles?.has(tenantId, name)) ?? false,
  })
  return withHandoff(admission, library.intents.has('subagent'))
}

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
