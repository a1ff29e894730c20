import { Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { IdParams, type RoutePlugin } from '#contracts/http'
import type { Sandbox } from '#contracts/sandbox'
import { findJob, type Job, type JobTable, killJob } from './job-table.js'
import { httpIdOf, JobView, shellIdOf, viewOf } from './job-view.js'

const Killed = Type.Object({ id: Type.String(), killed: Type.Literal(true) })

/** Background jobs over HTTP; another tenant's job looks like none. */
export function jobRoutes(table: JobTable, sandbox: Sandbox | undefined): RoutePlugin {
  const found = (id: string, tenantId: string): Job => {
    if (!sandbox)
      throw new Failure(
        'not_configured',
        'there are no background jobs: no sandbox is installed. Enable a plugin that provides one',
      )
    const job = findJob(table, shellIdOf(id), { tenantId })
    if (!job) throw new Failure('not_found', `no job ${id}`)
    return job
  }
  return async app => {
    app.get(
      '/v1/jobs/:id/output',
      {
        config: { scope: 'runs:read' },
        schema: {
          summary: 'Output of a background job so far',
          tags: ['jobs'],
          params: IdParams,
          response: { 200: JobView },
        },
      },
      async ({ params, identity }) => viewOf(found(params.id, identity.tenantId)),
    )
    app.post(
      '/v1/jobs/:id/kill',
      {
        config: { scope: 'runs:write' },
        schema: { summary: 'End a background job', tags: ['jobs'], params: IdParams, response: { 200: Killed } },
      },
      async ({ params, identity }) => {
        const job = found(params.id, identity.tenantId)
        await killJob(job)
        return { id: httpIdOf(job.id), killed: true as const }
      },
    )
  }
}
