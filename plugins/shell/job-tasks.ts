import type { Task, TaskSource } from '#contracts/tasks'
import { type Job, type JobTable, jobsOf } from './job-table.js'
import { httpIdOf } from './job-view.js'

const LABEL_CHARACTERS = 200

/** Background jobs as tasks: those that run and those that are still remembered. */
export const jobTasks = (table: JobTable): TaskSource => ({
  list: async tenantId => jobsOf(table, tenantId).map(taskOf),
})

function taskOf({ id, command, outcome, startedAt, conversationId, runId }: Job): Omit<Task, 'age_seconds'> {
  return {
    id: httpIdOf(id),
    type: 'bash_job',
    status: outcome === undefined ? 'running' : outcome.kind === 'timed_out' ? 'timed_out' : 'exited',
    label: command.slice(0, LABEL_CHARACTERS),
    started_at: startedAt.toISOString(),
    actions: outcome === undefined ? ['cancel'] : [],
    conversation_id: conversationId,
    run_id: runId,
  }
}
