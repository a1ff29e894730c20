import { createHash } from 'node:crypto'
import { type Static, Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import type { Events } from '#contracts/event/events'
import { IdParams, type RoutePlugin } from '#contracts/http'
import { resolveTenant } from '#contracts/identity'
import { RunRequest } from '#contracts/run/request'
import { RUN_STATUSES, Run, RunStatus, RunSummary } from '#contracts/run/run'
import type { Runs } from '#contracts/run/runs'
import type { Config } from './config.js'
import { listItem, publicRun, summaryOf } from './views.js'

const HOUR_MS = 3_600_000
const MAX_LISTED = 1000
const MAX_KEY_LENGTH = 255

const Accepted = Type.Object({ run_id: Type.String(), status: RunStatus })
const Cancelling = Type.Object({ status: Type.Literal('cancelling') })
const ListQuery = Type.Object({
  conversation_id: Type.Optional(Type.String()),
  status: Type.Optional(Type.String({ description: `One of ${RUN_STATUSES.join(', ')}.` })),
  tenant_id: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LISTED })),
  after: Type.Optional(Type.String({ description: 'Continue after this run id.' })),
})
const Listed = Type.Object({ runs: Type.Array(Type.Unknown()) })

/** Routes below /v1/runs that every deployment has. */
export function runRoutes(runs: Runs, events: Events, config: Config): RoutePlugin {
  return async app => {
    app.post(
      '/v1/runs',
      {
        config: { scope: 'runs:write' },
        schema: { summary: 'Start a run', tags: ['runs'], body: RunRequest, response: { 202: Accepted } },
      },
      async (request, reply) => {
        const key = idempotencyKey(request.headers['idempotency-key'])
        const { run, isReplay } = await runs.start(request.body, request.identity, {
          ...(key && {
            idempotency: { key, fingerprint: fingerprint(request.body), ttlMs: config.idempotency_hours * HOUR_MS },
          }),
        })
        reply.header('content-location', `/v1/runs/${run.id}`)
        if (isReplay) reply.header('idempotent-replayed', 'true')
        return reply.code(202).send({ run_id: run.id, status: run.status })
      },
    )

    app.get(
      '/v1/runs',
      {
        config: { scope: 'runs:read' },
        schema: {
          summary: 'List runs, newest first',
          tags: ['runs'],
          querystring: ListQuery,
          response: { 200: Listed },
        },
      },
      async (request, reply) => {
        const { query, identity } = request
        const tenant = resolveTenant(identity, query.tenant_id)
        if (!runs.isDurable)
          throw new Failure('not_implemented', 'run persistence is not configured: set SVC_RUN_DB to list runs')
        const limit = query.limit ?? MAX_LISTED
        const listed = await runs.list(identity.tenantId, {
          ...(query.conversation_id && { conversationId: query.conversation_id }),
          ...(query.status && { status: knownStatus(query.status) }),
          ...(query.after && { afterId: query.after }),
          limit,
        })
        const shown = listed.filter(
          run => query.tenant_id === undefined || (run.tenant_label ?? run.tenant_id) === tenant,
        )
        const last = listed.at(-1)
        if (listed.length === limit && last) reply.header('x-next-after', last.id)
        return { runs: shown.map(listItem) }
      },
    )

    app.get(
      '/v1/runs/:id',
      {
        config: { scope: 'runs:read' },
        schema: { summary: 'Read a run', tags: ['runs'], params: IdParams, response: { 200: Run } },
      },
      async request => publicRun(await found(runs, request.identity.tenantId, request.params.id)),
    )

    app.get(
      '/v1/runs/:id/events',
      {
        config: { scope: 'runs:read', timeoutMs: 'none' },
        schema: {
          summary: 'Follow a run',
          description: 'Server-sent events from the start, or after `Last-Event-ID`. Ends after the terminal event.',
          tags: ['runs'],
          params: IdParams,
          produces: ['text/event-stream'],
        },
      },
      async (request, reply) => {
        await events.streamRun(request, reply, request.params.id)
        return reply
      },
    )

    app.get(
      '/v1/runs/:id/summary',
      {
        config: { scope: 'runs:read' },
        schema: { summary: 'Sum up a finished run', tags: ['runs'], params: IdParams, response: { 200: RunSummary } },
      },
      async request => {
        const run = await found(runs, request.identity.tenantId, request.params.id)
        if (run.status !== 'completed' && run.status !== 'failed')
          throw new Failure(
            'run_not_finished',
            `run ${run.id} is ${run.status}; a summary needs a completed or failed run`,
          )
        return summaryOf(run)
      },
    )

    app.post(
      '/v1/runs/:id/cancel',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Cancel a run',
          description: 'Idempotent, also on finished runs.',
          tags: ['runs'],
          params: IdParams,
          response: { 200: Cancelling },
        },
      },
      async (request): Promise<Static<typeof Cancelling>> => {
        const run = await runs.cancel(request.identity.tenantId, request.params.id)
        if (!run) throw unknownRun(request.params.id)
        return { status: 'cancelling' }
      },
    )
  }
}

async function found(runs: Runs, tenantId: string, id: string) {
  const run = await runs.read(tenantId, id)
  if (!run) throw unknownRun(id)
  return run
}

const unknownRun = (id: string): Failure => new Failure('not_found', `no run ${id}`)

function knownStatus(status: string) {
  const known = RUN_STATUSES.find(each => each === status)
  if (!known) throw new Failure('invalid_request', `status: must be one of ${RUN_STATUSES.join(', ')}`)
  return known
}

function idempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header !== 'string' || header.trim() === '' || header.length > MAX_KEY_LENGTH)
    throw new Failure('invalid_request', `Idempotency-Key: must be one value of 1 to ${MAX_KEY_LENGTH} characters`)
  return header
}

/** The same for bodies that mean the same: members in any order. */
const fingerprint = (body: unknown): string => createHash('sha256').update(canonical(body)).digest('hex')

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`
}
