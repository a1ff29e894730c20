import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { EVENTS } from '#contracts/ports'
import { conversationRoutes } from './routes.js'

/** The conversation routes. */
export const plugin = definePlugin({
  name: 'conversations',
  config: Type.Object({}),
  needs: [EVENTS],
  register(scope) {
    scope.routes(conversationRoutes(scope.use(EVENTS)))
  },
})
