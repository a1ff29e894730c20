import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { SANDBOX } from '#contracts/ports'
import { createBlameTool } from './blame-tool.js'
import { createContributorTool } from './contributor-tool.js'
import { createFileHistoryTool, createLogSearchTool } from './history-tools.js'
import { createRangeTool } from './range-tool.js'
import { createDiffTool, createStatusTool } from './status-diff-tools.js'

/** Tools that look into git repositories, through the sandbox; silently absent without one. */
export const plugin = definePlugin({
  name: 'git-tools',
  config: Type.Object({}),
  optional: [SANDBOX],
  register(scope) {
    const sandbox = scope.find(SANDBOX)
    if (!sandbox) return
    scope.tool(createStatusTool(sandbox))
    scope.tool(createDiffTool(sandbox))
    scope.tool(createLogSearchTool(sandbox))
    scope.tool(createFileHistoryTool(sandbox))
    scope.tool(createBlameTool(sandbox))
    scope.tool(createRangeTool(sandbox))
    scope.tool(createContributorTool(sandbox))
  },
})
