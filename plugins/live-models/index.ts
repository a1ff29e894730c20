import { definePlugin } from '#contracts/plugin'
import { PROVIDERS } from '#contracts/ports'
import { systemClock } from './clock.js'
import { LiveModelsConfig } from './config.js'
import { type KnownLists, keepFresh, remember } from './refresh.js'

/** Asks providers for their model lists, in the background. */
export const plugin = definePlugin({
  name: 'live-models',
  config: LiveModelsConfig,
  needs: [PROVIDERS],
  register(scope) {
    const { config, log } = scope
    const providers = scope.use(PROVIDERS)
    const lists = scope.carry<KnownLists>('lists', () => new Map())
    if (!config.automatic) return
    remember({ providers, lists })
    scope.background('refresh', superseded =>
      keepFresh({ providers, lists, config, clock: systemClock, log }, superseded),
    )
  },
})
