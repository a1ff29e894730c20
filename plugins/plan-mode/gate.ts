import type { PendingCall, Verdict } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import { mayMutate } from '#contracts/tool/tool'
import { isPlanFile, planFileOf } from './plan-file.js'
import { isPlanning, setState, stateOf } from './plan-state.js'

/** Runs through the sandbox, which then holds it: see `narrow`. What a command says is never judged. */
const CONFINED_TOOL = 'bash'

/** Denies what may change something, but for the plan file and for commands that the sandbox confines. */
export function gate({ tool, args }: PendingCall, run: ActiveRun): Extract<Verdict, { kind: 'deny' }> | undefined {
  if (!isPlanning(run) || !mayMutate(tool)) return undefined
  if (tool.name === CONFINED_TOOL) return letThrough(run)
  const planFile = planFileOf(run.request)
  if (tool.action === 'write') {
    const paths = tool.subject?.(args as never).paths ?? []
    if (paths.length > 0 && paths.every(path => isPlanFile(path, planFile, run.workspace.root))) return letThrough(run)
  }
  const reason = `plan mode is on: ${tool.name} may change nothing but ${planFile}. Go on reading, write the plan there, or answer with it.`
  return {
    kind: 'deny',
    reason,
    output: { code: 'plan_mode_denied', tool: tool.name, action: tool.action, reason, allowed: false },
    // Told as the result of the call, like any other tool's failure.
    isQuiet: true,
  }
}

function letThrough(run: ActiveRun): undefined {
  const state = stateOf(run)
  if (!state.mayHaveWritten) setState(run, { ...state, mayHaveWritten: true })
}
