import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { contextStatusTool } from './context-status-tool.js'

/** The tool `context_status`. */
export const plugin = definePlugin({
  name: 'context-status',
  config: Type.Object({}),
  register(scope) {
    scope.tool(contextStatusTool)
  },
})
