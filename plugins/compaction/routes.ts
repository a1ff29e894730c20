import { type Static, Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { IdParams, type RoutePlugin } from '#contracts/http'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Runs } from '#contracts/run/runs'
import { compactAndTell, DEFAULT_KEPT_TURNS, MAX_KEPT_TURNS } from './compact-tool.js'
import type { CompactionMode, Config } from './config.js'
import { ContextStatus, type SettledStatuses, statusOf } from './context-status.js'
import { mayCompact } from './moment.js'

/** A summary is a turn of a model, and may take as long. */
const TIMEOUT_MS = 300_000
const MAX_INSTRUCTION_CHARS = 16_384

const Wish = Type.Object({
  mode: Type.Optional(
    Type.Union(
      ['', 'strip', 'summarize', 'hybrid'].map(mode => Type.Literal(mode as CompactionMode | '')),
      { description: 'Default: strip.' },
    ),
  ),
  keep_last: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_KEPT_TURNS,
      description: `Newest turns that stay as they are; 0 means the default, ${DEFAULT_KEPT_TURNS}.`,
    }),
  ),
  instruction: Type.Optional(
    Type.String({ maxLength: MAX_INSTRUCTION_CHARS, description: 'Something the summary is to preserve.' }),
  ),
})
const Done = Type.Object({
  ok: Type.Boolean(),
  messages_removed: Type.Integer(),
  mode: Type.String(),
  summary: Type.String(),
})

/** How full a run's context is, and making it shorter. */
export function contextRoutes(runs: Runs, settled: SettledStatuses, config: Config): RoutePlugin {
  return async app => {
    app.get(
      '/v1/runs/:id/context',
      {
        config: { scope: 'runs:read' },
        schema: {
          summary: 'How full the context of a run is',
          tags: ['runs'],
          params: IdParams,
          response: { 200: ContextStatus },
        },
      },
      async ({ identity, params }) => {
        const run = runs.active(identity.tenantId, params.id)
        const status = run ? statusOf(run) : settled.of(identity.tenantId, params.id)
        if (status) return status
        throw new Failure('not_found', `no run ${params.id} in memory`)
      },
    )

    app.post(
      '/v1/runs/:id/compact',
      {
        config: { scope: 'runs:write', timeoutMs: TIMEOUT_MS },
        schema: {
          summary: 'Shorten the context of a run',
          tags: ['runs'],
          params: IdParams,
          body: Wish,
          response: { 200: Done },
        },
      },
      async ({ identity, params, body }): Promise<Static<typeof Done>> => {
        const run = await activeRun(runs, identity.tenantId, params.id)
        const mode = body.mode || 'strip'
        const wish = { mode, keepLast: body.keep_last || DEFAULT_KEPT_TURNS, instruction: body.instruction ?? '' }
        const compacted = await compactAndTell(run, wish, config).catch((error: unknown) => {
          throw run.signal.aborted ? notActive(run.id, 'cancelled') : error
        })
        if (compacted.kind === 'failed')
          throw new Failure('upstream_error', `the summary could not be written: ${compacted.error}; strip needs none`)
        if (compacted.kind === 'ended') throw notActive(run.id, 'over')
        await run.durable()
        if (compacted.kind === 'unchanged') return { ok: true, messages_removed: 0, mode, summary: '' }
        return { ok: true, messages_removed: compacted.messagesRemoved, mode, summary: compacted.summary }
      },
    )
  }
}

async function activeRun(runs: Runs, tenantId: string, id: string): Promise<ActiveRun> {
  const run = runs.active(tenantId, id)
  if (run && mayCompact(run)) return run
  const record = await runs.read(tenantId, id)
  if (!record) throw new Failure('not_found', `no run ${id}`)
  throw notActive(id, run?.status ?? record.status)
}

const notActive = (id: string, status: string): Failure =>
  new Failure('run_not_active', `run ${id} is ${status}; only a run that works or waits for its user can be compacted`)
