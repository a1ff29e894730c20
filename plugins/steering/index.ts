import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { CEILINGS, RUNS } from '#contracts/ports'
import { steerRoutes } from './routes.js'
import { atAnswer, atEnd, atStep } from './steering.js'

/** Messages to a run in flight, read at the start of its next step. */
export const plugin = definePlugin({
  name: 'steering',
  config: Type.Object({}),
  needs: [RUNS],
  optional: [CEILINGS],
  register(scope) {
    scope.routes(steerRoutes(scope.use(RUNS), scope.find(CEILINGS)))
    scope.tap('stepStarting', atStep, { stage: STAGE.first })
    scope.tap('answerJudging', atAnswer, { stage: STAGE.first })
    scope.tap('runSettling', ({ kind }, run) => atEnd(kind === 'completed', run), { stage: STAGE.first })
  },
})
