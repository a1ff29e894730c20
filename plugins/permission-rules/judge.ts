import type { PermissionRules } from '#contracts/approval'
import type { PendingCall, Verdict } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'

/** Denies a call when the rule that decides says so. */
export async function denyByRule(
  rules: PermissionRules,
  call: PendingCall,
  run: ActiveRun,
): Promise<Verdict | undefined> {
  if ((await rules.effectOn(call, run)) !== 'deny') return undefined
  return {
    kind: 'deny',
    reason: 'permission_rule_denied',
    output: { code: 'permission_denied', message: `A permission rule of this run denies this ${call.tool.name} call.` },
  }
}

/** Asks about a call when the rule that decides says so, or the mode wants a rule and there is none. */
export async function askByRule(
  rules: PermissionRules,
  call: PendingCall,
  run: ActiveRun,
): Promise<Verdict | undefined> {
  const effect = await rules.effectOn(call, run)
  if (effect === 'ask') return { kind: 'ask', why: 'a permission rule of this run says to ask' }
  const { action } = call.tool
  if (effect === undefined && run.policy.toolApproval === 'permissions' && action !== 'read' && action !== 'list')
    return { kind: 'ask', why: 'the daemon runs in permissions mode and no rule of this run allows the call' }
  return undefined
}
