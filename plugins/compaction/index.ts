import { definePlugin, STAGE } from '#contracts/plugin'
import { RUNS } from '#contracts/ports'
import { compactWhenFull } from './automatic.js'
import { compactTool } from './compact-tool.js'
import { Config } from './config.js'
import { SettledStatuses } from './context-status.js'
import { enter } from './moment.js'
import { applyReset, resetTool } from './reset.js'
import { contextRoutes } from './routes.js'

/** How full a run's context is, and making it shorter: by hand, by the model, by itself. */
export const plugin = definePlugin({
  name: 'compaction',
  config: Config,
  needs: [RUNS],
  register(scope) {
    const { config } = scope
    const settled = scope.carry('settled', () => new SettledStatuses())
    scope.routes(contextRoutes(scope.use(RUNS), settled, config))
    scope.tool(compactTool(config))
    scope.tool(resetTool)
    // Before anybody adds to the transcript of the step.
    scope.tap(
      'stepStarting',
      async run => {
        enter(run, 'open')
        applyReset(run)
      },
      { stage: STAGE.first - 1 },
    )
    // A run that was waiting when the daemon stopped goes on inside its step.
    scope.tap('toolGating', async (_, run) => {
      enter(run, 'open')
      return undefined
    })
    if (config.automatic)
      scope.tap(
        'turnRequesting',
        async (request, run) => {
          await compactWhenFull(request, run, config)
          return request
        },
        { stage: STAGE.first },
      )
    scope.tap('runSettling', async (_, run) => {
      enter(run, 'closed')
      settled.keep(run)
    })
  },
})
