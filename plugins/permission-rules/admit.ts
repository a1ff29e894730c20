import { Failure } from '#contracts/errors'
import type { Admission } from '#contracts/hooks'
import type { PermissionRule, ToolApproval } from '#contracts/run/policy'
import { parseRulePattern } from './rule-pattern.js'

/** Refuses a request whose patterns cannot be read, naming the field. */
export function refuseBadPatterns(admission: Admission): Admission {
  const { permissions, rules } = admission.request
  check('permissions.rules', permissions?.rules)
  check('rules', rules)
  return admission
}

/** Has the run keep the mode it was admitted in. */
export function freezeMode(admission: Admission, mode: ToolApproval): Admission {
  return mode === 'permissions' ? { ...admission, policy: { ...admission.policy, toolApproval: mode } } : admission
}

function check(field: string, rules: readonly PermissionRule[] = []): void {
  for (const [index, { pattern }] of rules.entries()) {
    const read = parseRulePattern(pattern)
    if (typeof read === 'string') throw new Failure('invalid_request', `${field}[${index}].pattern: ${read}`)
  }
}
