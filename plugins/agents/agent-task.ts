import { Failure } from '#contracts/errors'
import type { Skills } from '#contracts/skills'

/** What an agent is asked to do. */
export interface AgentTask {
  readonly prompt: string
  /** Empty: every tool that is offered. */
  readonly allowedTools: readonly string[]
}

export interface AgentWish {
  readonly prompt?: string
  readonly skill?: string
  readonly skill_args?: string
  readonly allowed_tools?: readonly string[]
}

/** The prompt, or the text of the skill with its arguments; exactly one of them is given. */
export async function taskOf(wish: AgentWish, tenantId: string, skills: Skills | undefined): Promise<AgentTask> {
  const { prompt = '', skill = '', skill_args: args = '', allowed_tools: allowedTools = [] } = wish
  const [hasPrompt, hasSkill] = [prompt.trim() !== '', skill.trim() !== '']
  if (hasPrompt && hasSkill) throw new Failure('invalid_request', 'prompt, skill: give one of them, not both')
  if (hasPrompt) return { prompt, allowedTools }
  if (!hasSkill) throw new Failure('invalid_request', 'prompt, skill: one of them must be given')
  if (!skills) throw new Failure('not_implemented', 'skill: skills are not configured here; send a prompt instead')
  const found = await skills.text(tenantId, skill.trim(), { args })
  if (!found)
    throw new Failure('skill_not_found', `skill: there is no skill ${JSON.stringify(skill.trim().slice(0, 64))}`)
  return { prompt: found.text, allowedTools: heldTo(found.allowedTools, allowedTools) }
}

/** A request may narrow what a skill is held to, and not widen it. */
function heldTo(ofSkill: readonly string[] | undefined, asked: readonly string[]): readonly string[] {
  if (!ofSkill) return asked
  const both = asked.length === 0 ? ofSkill : asked.filter(name => ofSkill.includes(name))
  // An empty list would mean every tool.
  if (both.length === 0)
    throw new Failure('invalid_request', `allowed_tools: the skill may use ${ofSkill.join(', ') || 'no tool'} only`)
  return both
}
