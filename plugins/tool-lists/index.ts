import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { gateByLists, offerByLists } from './lists.js'

/** `allowed_tools` and `denied_tools`: what is offered, and what may be called whatever was offered. */
export const plugin = definePlugin({
  name: 'tool-lists',
  config: Type.Object({}),
  honours: ['allowed_tools', 'denied_tools'],
  register(scope) {
    scope.tap('toolsOffering', async (tools, run) => offerByLists(tools, run), { stage: STAGE.late })
    scope.tap('toolGating', async ({ call }, run) => gateByLists(call.name, run), { stage: STAGE.early })
  },
})
