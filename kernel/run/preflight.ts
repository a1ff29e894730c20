import { Failure, messageOf } from '#contracts/errors'
import type { ComposedPrompt, ProvisionedWorkspace } from '#contracts/hooks'
import type { ModelCandidate } from '#contracts/model/client'
import type { Message } from '#contracts/run/message'
import type { LiveRun } from './live-run.js'

/** What a run works with once it is under way. */
export interface Prepared {
  readonly candidates: readonly ModelCandidate[]
  readonly system: string
}

const EMPTY_PROMPT: ComposedPrompt = Object.freeze({
  sections: [],
  warnings: [],
  resolved: {
    intent: '',
    model_profile: '',
    model_fallback: false,
    applied_behaviors: [],
    applied_talents: [],
    applied_skills: [],
  },
})

/** Gives the run its workspace, before anything looks at paths. */
export async function provision(run: LiveRun): Promise<ProvisionedWorkspace | undefined> {
  if (!run.hooks.workspaceProvisioning.isUsed()) return undefined
  const type = run.request.workspace_type ?? ''
  try {
    const workspace = await run.hooks.workspaceProvisioning.promise(run)
    if (!workspace) return undefined
    const { root, extraDirs, isPinned } = workspace
    run.workspace = { ...run.workspace, root, extraDirs, ...(isPinned && { isPinned }) }
    run.update({ workspace: { root, extra_dirs: extraDirs } })
    if (workspace.type !== undefined && !run.isResumed)
      run.emit('workspace.provisioned', { workspace_type: workspace.type, workspace_path: workspace.root })
    return workspace
  } catch (error) {
    run.emit('workspace.provision_failed', { workspace_type: type, error: messageOf(error) })
    throw new Failure('execution_error', `the workspace could not be provisioned: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** Resolves who answers, composes the prompt, and puts the history in front of the user's message. */
export async function prepare(run: LiveRun, loadHistory: () => Promise<Message[]>): Promise<Prepared> {
  const candidates = await resolveProvider(run)
  const system = await composePrompt(run)
  const history = await loadHistory()
  run.prependHistory(history)
  if (!run.isResumed) {
    if (history.length > 0)
      run.emit('conversation.continued', { conversation_id: run.conversationId, prior_message_count: history.length })
  } else
    run.emit('prompt.warning', {
      code: 'resumed_after_restart',
      message: 'The daemon was restarted; the run goes on from its last settled step.',
    })
  return { candidates, system }
}

async function resolveProvider(run: LiveRun): Promise<readonly ModelCandidate[]> {
  const resolved = (await run.hooks.providerResolving.promise(run.request, run)) ?? []
  const candidates = withModalities(run, resolved)
  // One that fell back before the restart goes on with whom it fell back to.
  const present = run.isResumed
    ? candidates.find(({ provider, model }) => provider === run.provider && model === run.model)
    : undefined
  const chosen = present ?? candidates[0]
  if (!chosen) {
    const wanted = run.request.provider_name ? `provider ${run.request.provider_name}` : `model ${run.model}`
    throw new Failure(
      'not_configured',
      `no installed plugin can answer for ${wanted}: install a model provider, or set up one that is installed ("Use your provider" in the README)`,
    )
  }
  run.candidate = chosen
  const { provider, model } = chosen
  const isOther = run.provider !== provider || run.model !== model
  if (isOther) run.update({ provider_name: provider, model })
  if (isOther || !run.isResumed) run.emit('provider.resolved', { model, provider })
  return candidates
}

/** Those that take what the request brings; a model of which nothing is known is taken to accept it. */
function withModalities(run: LiveRun, candidates: readonly ModelCandidate[]): readonly ModelCandidate[] {
  if ((run.request.attachments ?? []).length === 0) return candidates
  const takesImages = ({ modalities }: ModelCandidate): boolean => modalities?.includes('image') ?? true
  const [first] = candidates
  if (first && !takesImages(first))
    throw new Failure(
      'invalid_request',
      `attachments: model ${first.model} of ${first.provider} takes no images; choose another model or leave them out`,
    )
  return candidates.filter(takesImages)
}

async function composePrompt(run: LiveRun): Promise<string> {
  if (!run.hooks.promptComposing.isUsed()) return ''
  const prompt = await run.hooks.promptComposing.promise(EMPTY_PROMPT, run)
  if (!run.isResumed) {
    const { resolved, warnings } = prompt
    run.emit('prompt.resolved', {
      ...resolved,
      applied_behaviors: [...resolved.applied_behaviors],
      applied_talents: [...resolved.applied_talents],
      applied_skills: [...resolved.applied_skills],
      has_warnings: warnings.length > 0,
    })
    for (const warning of warnings) run.emit('prompt.warning', warning)
  }
  return prompt.verbatim ?? renderSections(prompt)
}

const renderSections = ({ sections }: ComposedPrompt): string =>
  sections
    .filter(section => section.text.trim() !== '')
    .map(({ name, meta, text }) => `[SECTION ${name}${meta ? `:${meta}` : ''}]\n${text.trim()}\n[END SECTION]`)
    .join('\n\n')
