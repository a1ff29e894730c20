import type { Ending, PricedTurn } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Config } from './index.js'

/** Note with the step that was warned of last. */
const WARNED = 'budgets.warned'
const WARN_AT: readonly number[] = [3, 1]

/** Ends a run whose steps or turns are used up. */
export function spentSteps(run: ActiveRun, config: Config): Ending | undefined {
  const maxSteps = stricter(run.request.max_steps, config.max_steps)
  const maxTurns = run.request.max_turns ?? 0
  if (maxSteps > 0 && run.step >= maxSteps)
    return {
      kind: 'failed',
      error: `max steps (${maxSteps}) reached`,
      reason: 'max_steps_reached',
      facts: { max_steps: maxSteps },
    }
  if (maxTurns > 0 && run.turns >= maxTurns) {
    run.emit('max_turns.exhausted', { run_id: run.id, step: run.step, turn_count: run.turns, max_turns: maxTurns })
    return {
      kind: 'failed',
      error: `max turns (${maxTurns}) reached`,
      reason: 'max_turns_exhausted',
      facts: { max_turns: maxTurns },
    }
  }
  return undefined
}

/** Tells the model, out of the user's sight, that few steps remain. */
export function pressure(run: ActiveRun, config: Config): void {
  const limits = [stricter(run.request.max_steps, config.max_steps), run.request.max_turns ?? 0].filter(
    limit => limit > 0,
  )
  if (limits.length === 0) return
  const remaining = Math.min(...limits) - run.step + 1
  if (!WARN_AT.includes(remaining)) return
  // A step that is asked again after an empty answer was warned of already.
  if (run.note(WARNED) === run.step) return
  run.setNote(WARNED, run.step)
  const isChild = run.request.parent_context_handoff?.parent_run_id !== undefined
  run.emit('step_budget.pressure', { step: run.step, steps_remaining: remaining, depth: isChild ? 1 : 0 })
  run.addMessages([{ role: 'user', content: warning(remaining, isChild), is_meta: true }])
}

function warning(remaining: number, isChild: boolean): string {
  const left = remaining === 1 ? 'This is your last step' : `You have ${remaining} steps left`
  const advice = isChild
    ? 'Report to your parent now: what is done, what is not, and what it needs to know.'
    : 'Finish what matters most and answer with the result; say plainly what is left undone.'
  return `${left}. ${advice}`
}

/** Ends a run, as completed, once its known cost has reached the ceiling. */
export function costLimit({ answer, costStatus }: PricedTurn, run: ActiveRun, config: Config): Ending | undefined {
  const ceiling = stricter(run.request.max_cost_usd, config.max_cost_usd)
  const spent = run.costTotals.cost_usd_total
  if (ceiling <= 0 || costStatus !== 'available' || spent < ceiling) return undefined
  run.emit('run.cost_limit_reached', { step: run.step, max_cost_usd: ceiling, cumulative_cost_usd: spent })
  return { kind: 'completed', output: answer.text }
}

/** The smaller of two limits, where 0 is none: a request may lower what the operator allows and never raise it. */
function stricter(asked: number | undefined, allowed: number): number {
  const limits = [asked ?? 0, allowed].filter(limit => limit > 0)
  return limits.length > 0 ? Math.min(...limits) : 0
}
