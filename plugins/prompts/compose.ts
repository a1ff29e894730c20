import type { ComposedPrompt, PromptSection } from '#contracts/hooks'
import type { RunRequest } from '#contracts/run/request'
import type { AgentsFile } from './agents-file.js'
import { matchesPattern } from './glob.js'
import type { ModelProfile, PromptLibrary } from './library.js'
import type { ResolvedSkills } from './skills.js'

/** What a system prompt is composed from. */
export interface Ingredients {
  readonly request: RunRequest
  readonly model: string
  readonly library: PromptLibrary
  /** SVC_SYSTEM_PROMPT; empty when the deployment has none of its own. */
  readonly systemPrompt: string
  readonly defaultIntent: string
  readonly agentsFile: AgentsFile
  readonly skills: ResolvedSkills
}

/** Adds the sections of the static prompt, in their fixed order. Ids in the request are taken to be known. */
export function composePrompt(prompt: ComposedPrompt, from: Ingredients): ComposedPrompt {
  const { request, library, agentsFile, skills } = from
  const extensions = request.prompt_extensions ?? {}
  const intent = intentOf(from)
  const { profile, isFallback } = profileOf(from)
  const behaviors = known(extensions.behaviors, library.behaviors)
  const talents = known(extensions.talents, library.talents)
  const sections: readonly PromptSection[] = [
    { name: 'BASE', text: from.systemPrompt.trim() || library.base },
    { name: 'INTENT', text: library.intents.get(intent) ?? '' },
    { name: 'MODEL_PROFILE', text: profile?.text ?? '' },
    { name: 'AGENTS_MD', text: agentsFile.text },
    { name: 'TASK_CONTEXT', text: request.task_context ?? '' },
    ...behaviors.map(([meta, text]) => ({ name: 'BEHAVIOR', meta, text })),
    ...talents.map(([meta, text]) => ({ name: 'TALENT', meta, text })),
    ...skills.sections,
    { name: 'CUSTOM', text: extensions.custom ?? '' },
  ]
  return {
    ...prompt,
    sections: [...prompt.sections, ...sections.filter(({ text }) => text.trim() !== '').map(withoutMarks)],
    warnings: [...prompt.warnings, ...skills.warnings, ...(agentsFile.warning ? [agentsFile.warning] : [])],
    resolved: {
      ...prompt.resolved,
      intent,
      model_profile: profile?.name ?? '',
      model_fallback: isFallback,
      applied_behaviors: behaviors.map(([id]) => id),
      applied_talents: talents.map(([id]) => id),
      applied_skills: skills.sections.flatMap(({ meta }) => (meta === undefined ? [] : [meta])),
    },
  }
}

/** A line that looks like the end or the beginning of a section gets a backslash: a file of the workspace ends none. */
const withoutMarks = (section: PromptSection): PromptSection => ({
  ...section,
  text: section.text.replaceAll(/^[ \t]*\[(?=(?:END )?SECTION\b)/gm, '\\['),
})

/** A deployment with a prompt of its own gets an intent only where somebody asks for one. */
function intentOf({ request, library, systemPrompt, defaultIntent }: Ingredients): string {
  const wanted = request.agent_intent || defaultIntent
  if (wanted && library.intents.has(wanted)) return wanted
  return systemPrompt.trim() === '' ? library.defaultIntent : ''
}

function profileOf({ request, model, library, systemPrompt }: Ingredients): {
  readonly profile: ModelProfile | undefined
  readonly isFallback: boolean
} {
  const { modelProfiles, defaultModelProfile } = library
  const asked = modelProfiles.find(({ name }) => name === request.prompt_profile)
  if (asked) return { profile: asked, isFallback: false }
  if (systemPrompt.trim() !== '') return { profile: undefined, isFallback: false }
  const fitting = modelProfiles.find(({ match }) => matchesPattern(match, model))
  const profile = fitting ?? modelProfiles.find(({ name }) => name === defaultModelProfile)
  return { profile, isFallback: profile?.name === defaultModelProfile }
}

/** Each once, in the order asked for. */
const known = (ids: readonly string[] | undefined, texts: ReadonlyMap<string, string>): readonly [string, string][] =>
  [...new Set(ids)].flatMap(id => {
    const text = texts.get(id)
    return text === undefined ? [] : [[id, text] as [string, string]]
  })
