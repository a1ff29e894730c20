import type { PermissionRules } from '#contracts/approval'
import type { PendingCall, Verdict } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import { mayMutate } from '#contracts/tool/tool'

/** Says `ask` for calls that the run's approval policy, or the daemon's mode, does not let through unasked. */
export function judge(
  { tool }: PendingCall,
  run: ActiveRun,
  rules: PermissionRules | undefined,
): Extract<Verdict, { kind: 'ask' }> | undefined {
  const { approval, toolApproval } = run.policy
  if (approval === 'all') return { kind: 'ask', why: 'every call of this run needs an approval' }
  if (approval === 'destructive' && mayMutate(tool))
    return { kind: 'ask', why: 'calls of this run that change something need an approval' }
  // With rules at hand, they decide in this mode; without them nothing can allow a call but a person.
  if (toolApproval === 'permissions' && !rules && tool.action !== 'read' && tool.action !== 'list')
    return { kind: 'ask', why: 'the daemon runs in permissions mode and has no rules that could allow the call' }
  return undefined
}
