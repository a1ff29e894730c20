import type { ModelRequest } from '#contracts/model/client'
import type { ActiveRun } from '#contracts/run/active-run'
import { planFileOf } from './plan-file.js'
import { isPlanning } from './plan-state.js'

/** Reminds the model of plan mode at the end of the turn's messages, so that the stable part of the prompt stays as it is. */
export function guide(request: ModelRequest, run: ActiveRun): ModelRequest {
  if (!isPlanning(run)) return request
  return { ...request, trailing: [...request.trailing, { role: 'system', content: guidance(planFileOf(run.request)) }] }
}

const guidance = (planFile: string): string =>
  `Plan mode is on. Find out what is needed and make a plan; carry nothing out yet.
- Read, search and run commands as you like. Commands see the workspace read-only and may have no network; tools that change anything are refused.
- The one file you may write is ${planFile}.
- When the plan is ready, answer with it in full and call no tool. A person reads it and approves it, or sends it back with remarks.
- Are there real alternatives? Then add a section "## Approaches" with one to three list items, each "name — what it means", for the person to choose from.`
