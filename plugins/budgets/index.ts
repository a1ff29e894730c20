import { type Static, Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { costLimit, pressure, spentSteps } from './budgets.js'

const Config = Type.Object({
  max_steps: Type.Integer({ minimum: 0, default: 0, setting: 'max_steps' }),
  max_cost_usd: Type.Number({ minimum: 0, default: 0, setting: 'cost.max_per_run_usd' }),
})

/** Limits of the deployment; a request may set its own. 0 means none. */
export type Config = Readonly<Static<typeof Config>>

/** Step, turn and cost limits of a run, and the warning before they are reached. */
export const plugin = definePlugin({
  name: 'budgets',
  config: Config,
  honours: ['max_steps', 'max_turns', 'max_cost_usd'],
  register(scope) {
    scope.tap('stepPermitting', async run => spentSteps(run, scope.config))
    scope.tap('stepStarting', async run => pressure(run, scope.config))
    scope.tap('turnJudging', async (turn, run) => costLimit(turn, run, scope.config))
  },
})
