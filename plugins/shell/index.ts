import { definePlugin } from '#contracts/plugin'
import { EVENTS, NOTICES, RECORDS, SANDBOX, TASK_SOURCES } from '#contracts/ports'
import { createBashTool } from './bash-tool.js'
import { ShellConfig } from './config.js'
import { tellEnds } from './job-ends.js'
import { jobRoutes } from './job-routes.js'
import { afterJobs, closeJobs, createJobTable } from './job-table.js'
import { jobTasks } from './job-tasks.js'
import { createJobKillTool, createJobOutputTool } from './job-tools.js'
import { JobTraces } from './job-traces.js'

/** The tool `bash`, in the foreground and in the background, run through the sandbox port. */
export const plugin = definePlugin({
  name: 'shell',
  config: ShellConfig,
  needs: [EVENTS, RECORDS],
  optional: [SANDBOX, NOTICES],
  contributes: [TASK_SOURCES],
  register(scope) {
    const sandbox = scope.find(SANDBOX)
    const jobs = scope.carry('jobs', createJobTable, closeJobs)
    const traces = new JobTraces(scope.use(RECORDS))
    const told = { events: scope.use(EVENTS), traces, notices: scope.find(NOTICES), log: scope.log }
    scope.tool(createBashTool(sandbox, scope.config, { table: jobs, traces }))
    if (sandbox) {
      scope.tool(createJobOutputTool(jobs))
      scope.tool(createJobKillTool(jobs))
    }
    scope.contribute(TASK_SOURCES, jobTasks(jobs))
    scope.routes(jobRoutes(jobs, sandbox))
    scope.background('job-ends', superseded => tellEnds(jobs, told, superseded))
    scope.tap('runSettled', ({ id }) => afterJobs(jobs, id, async () => sandbox?.endSession?.(id)))
  },
})
