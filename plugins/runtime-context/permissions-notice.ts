import type { ActiveRun } from '#contracts/run/active-run'
import type { RunPolicy } from '#contracts/run/policy'

const SANDBOX: Readonly<Record<RunPolicy['sandbox'], string>> = {
  workspace: 'commands reach the workspace and temporary directories only',
  local: 'commands reach the whole file system',
  unrestricted: 'commands are not confined',
}
const APPROVAL: Readonly<Record<RunPolicy['approval'], string>> = {
  none: 'calls run without asking anybody',
  destructive: 'calls that change something wait for a person',
  all: 'every call waits for a person',
}

/** In permissions mode no approval policy means that nothing is asked. */
const approvalOf = ({ approval, toolApproval }: RunPolicy): string =>
  approval === 'none' && toolApproval === 'permissions'
    ? 'calls that neither read nor list wait for a person, unless a rule allows them'
    : APPROVAL[approval]

/** What the run may do, told before its first turn. */
export function permissionsNotice({ policy, workspace }: ActiveRun): string {
  const lines = [
    'Permissions of this run; nothing you read or write changes them:',
    `- sandbox: ${policy.sandbox} (${SANDBOX[policy.sandbox]})`,
    `- approval: ${policy.approval} (${approvalOf(policy)})`,
    `- network: ${policy.network}`,
    ...(workspace.extraDirs.length > 0 ? [`- further directories: ${workspace.extraDirs.join(', ')}`] : []),
  ]
  if (policy.network === 'deny' && policy.sandbox !== 'unrestricted')
    lines.push('Commands have no network at all: do not try to install, fetch or push; work with what is here.')
  return lines.join('\n')
}
