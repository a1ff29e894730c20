import type { AnswerDraft, Fields } from '#contracts/model/wire/answer-draft'
import { parseStatedCost, parseUsage } from './usage.js'

/** The latest usage counts: servers repeat it, and grow it. */
export function addUsage(draft: AnswerDraft, value: unknown): void {
  if (value) draft.usage = parseUsage(value) ?? draft.usage
}

/** Model, usage and cost, from the object that states them at its root. */
export function addFacts(draft: AnswerDraft, facts: Fields): void {
  if (typeof facts.model === 'string' && facts.model !== '') draft.modelVersion = facts.model
  addUsage(draft, facts.usage)
  draft.costUsd = parseStatedCost(facts) ?? draft.costUsd
}
