import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { CONFIG_RELOAD } from '#contracts/ports'
import { reloadRoute } from './routes.js'

/** `POST /v1/config/reload`. */
export const plugin = definePlugin({
  name: 'config-reload',
  config: Type.Object({}),
  optional: [CONFIG_RELOAD],
  register(scope) {
    scope.routes(reloadRoute(scope.find(CONFIG_RELOAD)))
  },
})
