import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { RUNS, SKILLS } from '#contracts/ports'
import { agentRoutes } from './routes.js'

/** `POST /v1/agents`: a run in one blocking request. */
export const plugin = definePlugin({
  name: 'agents',
  config: Type.Object({}),
  needs: [RUNS],
  optional: [SKILLS],
  register(scope) {
    scope.routes(agentRoutes(scope.use(RUNS), scope.find(SKILLS)))
  },
})
