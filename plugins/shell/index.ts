import { definePlugin } from '#contracts/plugin'
import { SANDBOX } from '#contracts/ports'
import { createBashTool } from './bash-tool.js'
import { ShellConfig } from './config.js'
import { jobRoutes } from './job-routes.js'
import { afterJobs, closeJobs, createJobTable } from './job-table.js'
import { createJobKillTool, createJobOutputTool } from './job-tools.js'

/** The tool `bash`, in the foreground and in the background, run through the sandbox port. */
export const plugin = definePlugin({
  name: 'shell',
  config: ShellConfig,
  optional: [SANDBOX],
  register(scope) {
    const sandbox = scope.find(SANDBOX)
    const jobs = scope.carry('jobs', createJobTable, closeJobs)
    scope.tool(createBashTool(sandbox, scope.config, jobs))
    if (sandbox) {
      scope.tool(createJobOutputTool(jobs))
      scope.tool(createJobKillTool(jobs))
    }
    scope.routes(jobRoutes(jobs, sandbox))
    scope.tap('runSettled', ({ id }) => afterJobs(jobs, id, async () => sandbox?.endSession?.(id)))
  },
})
