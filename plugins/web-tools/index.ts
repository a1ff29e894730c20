import { definePlugin } from '#contracts/plugin'
import { WEB, WORKSPACE_FILES } from '#contracts/ports'
import { WebToolsConfig } from './config.js'
import { createConverter } from './convert-page.js'
import { createDownloadTool } from './download-tool.js'
import { createFetchTool } from './fetch-tool.js'
import { createWebFetchTool } from './web-fetch-tool.js'

/** `fetch`, `web_fetch` and `download`; silently absent without what they need. */
export const plugin = definePlugin({
  name: 'web-tools',
  config: WebToolsConfig,
  optional: [WEB, WORKSPACE_FILES],
  register(scope) {
    const web = scope.find(WEB)
    if (!web) return
    const convertPage = createConverter(scope.config.conversion_timeout_ms)
    scope.tool(createFetchTool(web, scope.config, convertPage))
    scope.tool(createWebFetchTool(web, scope.config, convertPage))
    const files = scope.find(WORKSPACE_FILES)
    if (files) scope.tool(createDownloadTool(web, files))
  },
})
