import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { ActiveRun } from '#contracts/run/active-run'
import type { SandboxPolicy } from '#contracts/sandbox'
import type { PlanModeConfig } from './config.js'
import { DEFAULT_PLAN_FILE, planFileOf } from './plan-file.js'
import { isPlanning } from './plan-state.js'

/**
 * What commands and file tools of a planning run may reach: everything of the workspace read-only but for the plan file,
 * whatever sandbox the run was admitted with. After the approval the default plan file stays readable.
 */
export function narrow(policy: SandboxPolicy, run: ActiveRun, { network }: PlanModeConfig): SandboxPolicy {
  if (!run.request.plan_mode) return policy
  const planFile = planFileOf(run.request)
  const shown = planFile === DEFAULT_PLAN_FILE ? { shownPaths: [...(policy.shownPaths ?? []), planFile] } : {}
  if (!isPlanning(run)) return { ...policy, ...shown }
  return {
    ...policy,
    ...shown,
    scope: 'workspace',
    network: network === 'deny' ? 'deny' : policy.network,
    isReadOnly: true,
    writablePaths: isFolder(join(policy.root, planFile)) ? [] : [planFile],
  }
}

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
