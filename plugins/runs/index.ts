import { definePlugin } from '#contracts/plugin'
import { EVENTS, RUNS } from '#contracts/ports'
import { Config } from './config.js'
import { runRoutes } from './routes.js'

/** The run routes: start, list, read, follow, sum up, cancel. */
export const plugin = definePlugin({
  name: 'runs',
  config: Config,
  needs: [RUNS, EVENTS],
  register(scope) {
    scope.routes(runRoutes(scope.use(RUNS), scope.use(EVENTS), scope.config))
  },
})
