import { definePlugin, STAGE } from '#contracts/plugin'
import { CEILINGS, CHECKPOINTS, RUN_STORE, RUNS } from '#contracts/ports'
import { askTool, settle } from './ask-tool.js'
import { Config } from './config.js'
import { askedBy, failureOf } from './pending.js'
import { inputRoutes } from './routes.js'

/** `AskUserQuestion`: a run asks, waits, and goes on with the answer; over restarts too. */
export const plugin = definePlugin({
  name: 'questions',
  config: Config,
  needs: [RUNS, RUN_STORE],
  optional: [CEILINGS, CHECKPOINTS],
  honours: ['permissions.unattended'],
  register(scope) {
    const store = scope.use(RUN_STORE)
    const checkpoints = scope.find(CHECKPOINTS)
    const { log } = scope
    scope.tool(askTool({ timeoutSeconds: scope.config.timeout_seconds, now: () => store.now(), checkpoints, log }))
    scope.routes(inputRoutes(scope.use(RUNS), scope.find(CEILINGS)))
    // A question without an answer ends the run: no other call of the turn starts, and no further step.
    scope.tap(
      'toolGating',
      async (_, run) =>
        failureOf(run) && { kind: 'deny', reason: 'run_is_failing', output: failureOf(run)?.error ?? '' },
      { stage: STAGE.first },
    )
    scope.tap(
      'stepPermitting',
      async run => {
        const failure = failureOf(run)
        return failure && { kind: 'failed', ...failure }
      },
      { stage: STAGE.first },
    )
    scope.tap('runSettling', async (_, run) => {
      const asked = askedBy(run)
      if (asked && !asked.answers) await settle({ checkpoints, log }, run.tenantId, asked, 'expired')
    })
  },
})
