import { Failure } from '#contracts/errors'
import type { Admission } from '#contracts/hooks'
import type { PermissionRule } from '#contracts/run/policy'
import { parseRulePattern } from './rule-pattern.js'

/** Refuses a request whose patterns cannot be read, naming the field. */
export function refuseBadPatterns(admission: Admission): Admission {
  const { permissions, rules } = admission.request
  check('permissions.rules', permissions?.rules)
  check('rules', rules)
  return admission
}

function check(field: string, rules: readonly PermissionRule[] = []): void {
  for (const [index, { pattern }] of rules.entries()) {
    const read = parseRulePattern(pattern)
    if (typeof read === 'string') throw new Failure('invalid_request', `${field}[${index}].pattern: ${read}`)
  }
}
