import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { RUNS } from '#contracts/ports'
import { NOTICE_NAME, policyNotice } from './policy-notice.js'
import { controlRoutes } from './routes.js'

/** Continuing and replaying completed runs. */
export const plugin = definePlugin({
  name: 'run-control',
  config: Type.Object({}),
  needs: [RUNS],
  register(scope) {
    const runs = scope.use(RUNS)
    scope.routes(controlRoutes(runs))
    scope.tap(
      'stepStarting',
      async run => {
        if (run.step !== 1 || !run.previousRunId || run.transcript.some(({ name }) => name === NOTICE_NAME)) return
        const before = await runs.read(run.tenantId, run.previousRunId)
        const notice = before && policyNotice(before.policy, run.policy)
        if (notice) run.addMessages([notice])
      },
      { stage: STAGE.first },
    )
  },
})
