import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { CEILINGS, CHECKPOINTS, RECORDS, RUN_STORE, RUNS } from '#contracts/ports'
import { checkpointRoutes } from './routes.js'
import { StoredCheckpoints } from './stored-checkpoints.js'

/** Pauses of runs and workflows as records that can be read and resumed. */
export const plugin = definePlugin({
  name: 'checkpoints',
  config: Type.Object({}),
  needs: [RECORDS, RUN_STORE, RUNS],
  optional: [CEILINGS],
  provides: [CHECKPOINTS],
  register(scope) {
    const store = scope.use(RUN_STORE)
    const checkpoints = new StoredCheckpoints(scope.use(RECORDS), () => store.now())
    scope.provide(CHECKPOINTS, checkpoints)
    // After whoever opened them: they know how it ended, if they are still here.
    scope.tap('runSettling', async (_ending, run) => checkpoints.expire(run), { stage: STAGE.last })
    scope.routes(checkpointRoutes(checkpoints, scope.use(RUNS), scope.find(CEILINGS)))
  },
})
