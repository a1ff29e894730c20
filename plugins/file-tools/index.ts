import { definePlugin } from '#contracts/plugin'
import { WORKSPACE_FILES } from '#contracts/ports'
import { createApplyPatchTool } from './apply-patch-tool.js'
import { FileToolsConfig } from './config.js'
import { createEditTool } from './edit-tool.js'
import { createFileInspectTool } from './file-inspect-tool.js'
import { createGlobTool } from './glob-tool.js'
import { createGrepTool } from './grep-tool.js'
import { createLsTool } from './ls-tool.js'
import { createReadTool } from './read-tool.js'
import { createWriteTool } from './write-tool.js'

export const plugin = definePlugin({
  name: 'file-tools',
  config: FileToolsConfig,
  needs: [WORKSPACE_FILES],
  register(scope) {
    const files = scope.use(WORKSPACE_FILES)
    scope.tool(createReadTool(files))
    scope.tool(createWriteTool(files))
    scope.tool(createEditTool(files))
    scope.tool(createApplyPatchTool(files))
    scope.tool(createFileInspectTool(files))
    scope.tool(createLsTool(files, scope.config))
    scope.tool(createGlobTool(files, scope.config))
    scope.tool(createGrepTool(files, scope.config))
  },
})
