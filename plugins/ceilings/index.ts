import { definePlugin, STAGE } from '#contracts/plugin'
import { CEILINGS, RUNS } from '#contracts/ports'
import { ceilingFor, readCeilings } from './ceilings.js'
import { CeilingsConfig } from './config.js'
import { directing } from './directing.js'
import { hold } from './hold.js'

/** What an operator lets runs ask for, by key and tenant. */
export const plugin = definePlugin({
  name: 'ceilings',
  config: CeilingsConfig,
  needs: [RUNS],
  provides: [CEILINGS],
  register(scope) {
    const ceilings = readCeilings(scope.config)
    const { workspace } = scope.config
    const runs = scope.use(RUNS)
    scope.provide(CEILINGS, directing(ceilings, workspace))
    // Last: what other plugins filled in is bounded like what was asked for.
    scope.tap(
      'runAdmitting',
      async admission =>
        hold(admission, ceilingFor(admission.identity, ceilings), { workspace, honoured: runs.honoured }),
      { stage: STAGE.last },
    )
  },
})
