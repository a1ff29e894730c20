import { messageOf } from '#contracts/errors'
import type { ComposedPrompt, PromptSection } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Skills } from '#contracts/skills'

type Warning = ComposedPrompt['warnings'][number]

/** The skills a request asks for; those that cannot be had are warnings. */
export interface ResolvedSkills {
  readonly sections: readonly PromptSection[]
  readonly warnings: readonly Warning[]
}

const SHOWN_CHARACTERS = 400

/** Each skill once, in the order asked for. */
export async function resolveSkills(run: ActiveRun, skills: Skills | undefined): Promise<ResolvedSkills> {
  const names = [...new Set(run.request.prompt_extensions?.skills)]
  if (names.length === 0) return { sections: [], warnings: [] }
  if (!skills) {
    const message = `nothing here resolves skills; the prompt goes without ${names.join(', ').slice(0, SHOWN_CHARACTERS)}`
    return { sections: [], warnings: [{ code: 'skills_no_resolver', message }] }
  }
  const resolved = await Promise.all(names.map(name => resolveSkill(run, skills, name)))
  return {
    sections: resolved.flatMap(one => ('text' in one ? [one] : [])),
    warnings: resolved.flatMap(one => ('code' in one ? [one] : [])),
  }
}

async function resolveSkill(run: ActiveRun, skills: Skills, name: string): Promise<PromptSection | Warning> {
  const failed = (why: string): Warning => ({ code: 'skill_resolve_failed', message: why.slice(0, SHOWN_CHARACTERS) })
  try {
    const skill = await skills.text(run.tenantId, name, { workspaceRoot: run.workspace.root })
    return skill ? { name: 'SKILL', meta: name, text: skill.text } : failed(`there is no skill ${JSON.stringify(name)}`)
  } catch (error) {
    return failed(`the skill ${JSON.stringify(name)} cannot be read: ${messageOf(error)}`)
  }
}
