import { isDeepStrictEqual } from 'node:util'
import type { Message } from '#contracts/run/message'
import type { RunPolicy } from '#contracts/run/policy'

/** Name of the hidden message; one in a run's transcript is enough. */
export const NOTICE_NAME = 'continuation_policy'

/** What the model must know about a continuation whose limits differ from those it remembers; undefined: nothing. */
export function policyNotice(before: RunPolicy, now: RunPolicy): Message | undefined {
  const changes = [...toolChanges(before, now), ...permissionChanges(before, now)]
  if (changes.length === 0) return undefined
  return {
    role: 'system',
    name: NOTICE_NAME,
    is_meta: true,
    content: [
      'What this run may do differs from the run before it in this conversation:',
      ...changes.map(change => `- ${change}`),
      'Go by this, not by what was possible or forbidden earlier.',
    ].join('\n'),
  }
}

function toolChanges(before: RunPolicy, now: RunPolicy): readonly string[] {
  const changes: string[] = []
  if (!isDeepStrictEqual(before.allowedTools, now.allowedTools))
    changes.push(
      now.allowedTools
        ? `Tools you may use: ${now.allowedTools.join(', ')}.`
        : 'Every tool you are offered may be used.',
    )
  if (!isDeepStrictEqual(before.deniedTools, now.deniedTools))
    changes.push(
      now.deniedTools.length > 0
        ? `Tools you may not use: ${now.deniedTools.join(', ')}.`
        : 'No tool is denied any more.',
    )
  return changes
}

const NAMES = [
  ['sandbox', 'sandbox'],
  ['approval', 'approval'],
  ['toolApproval', 'tool approval mode'],
  ['network', 'network'],
  ['unattended', 'unattended'],
] as const

function permissionChanges(before: RunPolicy, now: RunPolicy): readonly string[] {
  const changes = NAMES.filter(([key]) => before[key] !== now[key]).map(
    ([key, name]) => `${name}: ${now[key]} (was ${before[key]}).`,
  )
  if (!isDeepStrictEqual(before.rules, now.rules)) changes.push('Permission rules for tool calls have changed.')
  return changes
}
