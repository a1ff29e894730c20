import { Type } from '@sinclair/typebox'
import { defineTool, type ToolContext, type ToolResult } from '#contracts/tool/tool'
import { findJob, type Job, type JobTable, killJob } from './job-table.js'
import { shellIdOf, viewOf } from './job-view.js'

const ShellId = Type.String({ minLength: 1, maxLength: 100, description: 'The shell_id that bash returned.' })
const shared = { tags: ['shell', 'job', 'background'], owner: 'core', condition: 'sandbox installed' }

/** `job_output`: what a background job has said so far. */
export const createJobOutputTool = (table: JobTable) =>
  defineTool({
    ...shared,
    name: 'job_output',
    description:
      'Show whether a background job of bash still runs, its exit code, and its output so far (beginning and end of a long one). With wait, answer when it has ended.',
    parameters: Type.Object({
      shell_id: ShellId,
      wait: Type.Optional(Type.Boolean({ description: 'Wait until the job has ended.' })),
    }),
    action: 'read',
    async execute({ shell_id, wait }, context): Promise<ToolResult> {
      const job = jobOf(table, shell_id, context)
      if (!job) return unknown(shell_id)
      if (wait) await endOf(job, context.signal)
      return { output: viewOf(job) }
    },
  })

/** `job_kill`: ends a background job with everything it started. */
export const createJobKillTool = (table: JobTable) =>
  defineTool({
    ...shared,
    name: 'job_kill',
    description: 'End a background job of bash with everything it started. killed is false when it had ended before.',
    parameters: Type.Object({ shell_id: ShellId }),
    action: 'execute',
    async execute({ shell_id }, context): Promise<ToolResult> {
      const job = jobOf(table, shell_id, context)
      if (!job) return unknown(shell_id)
      return { output: { shell_id: job.id, killed: await killJob(job) } }
    },
  })

const jobOf = (table: JobTable, id: string, { run }: ToolContext): Job | undefined =>
  findJob(table, shellIdOf(id), { tenantId: run.tenantId, conversationId: run.conversationId })

const unknown = (id: string): ToolResult => ({
  error: {
    code: 'not_found',
    message: `There is no background job ${id}. Jobs are forgotten 30 minutes after they end, and none outlives the daemon that ran it.`,
  },
})

async function endOf(job: Job, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  let leave = (): void => undefined
  const aborted = new Promise<void>(resolve => {
    leave = resolve
    signal.addEventListener('abort', leave, { once: true })
  })
  await Promise.race([job.ended, aborted])
  signal.removeEventListener('abort', leave)
  signal.throwIfAborted()
}
