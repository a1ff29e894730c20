import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { TOOLS } from '#contracts/ports'
import { gateByActivation, offerActivated } from './activation.js'
import { findTool } from './find-tool.js'
import { toolRoutes } from './routes.js'

/** Tiers of tools: `find_tool` activates deferred ones; `GET /v1/tools` lists all. */
export const plugin = definePlugin({
  name: 'tool-catalog',
  config: Type.Object({}),
  needs: [TOOLS],
  register(scope) {
    scope.tool(findTool)
    // Before the lists, which filter late.
    scope.tap('toolsOffering', async (tools, run) => offerActivated(tools, run), { stage: STAGE.early })
    // After the lists: a denied tool is called denied, not inactive.
    scope.tap('toolGating', async ({ tool }, run) => gateByActivation(tool, run))
    scope.routes(toolRoutes(scope.use(TOOLS)))
  },
})
