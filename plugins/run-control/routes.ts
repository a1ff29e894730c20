import { Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { IdParams, type RoutePlugin } from '#contracts/http'
import type { Identity } from '#contracts/identity'
import { Permissions } from '#contracts/run/policy'
import { type RunRecord, RunStatus } from '#contracts/run/run'
import type { Runs } from '#contracts/run/runs'
import { type ContinuationWish, continuationOf, replayOf } from './continuation.js'

const Continue = Type.Object({
  prompt: Type.String({ minLength: 1, description: 'What comes next.' }),
  allowed_tools: Type.Optional(
    Type.Array(Type.String(), { maxItems: 1000, description: 'In place of the inherited list.' }),
  ),
  permissions: Type.Optional(Permissions),
})
const Continued = Type.Object({ run_id: Type.String(), status: RunStatus, conversation_id: Type.String() })
const Replayed = Type.Object({
  run_id: Type.String(),
  status: RunStatus,
  replayed_from: Type.String(),
  conversation_id: Type.String(),
})

/** Going on from a completed run, and doing it once more. */
export function controlRoutes(runs: Runs): RoutePlugin {
  return async app => {
    app.post(
      '/v1/runs/:id/continue',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Continue a completed run',
          description:
            'A new run in the same conversation, with the model, tools and limits of the run it continues. Once per run.',
          tags: ['runs'],
          params: IdParams,
          body: Continue,
          response: { 202: Continued },
        },
      },
      async ({ identity, params, body }, reply) => {
        if (body.prompt.trim() === '') throw new Failure('invalid_request', 'prompt: must say something')
        const run = await continueRun(runs, identity, params.id, body)
        reply.header('content-location', `/v1/runs/${run.id}`)
        return reply.code(202).send({ run_id: run.id, status: run.status, conversation_id: run.conversation_id })
      },
    )

    app.post(
      '/v1/runs/:id/replay',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Run a completed run once more',
          description: 'A new run in the same conversation with everything the run was started with.',
          tags: ['runs'],
          params: IdParams,
          response: { 202: Replayed },
        },
      },
      async ({ identity, params }, reply) => {
        const source = await completed(runs, identity.tenantId, params.id, 'replayed')
        const { run } = await runs.start(replayOf(source), identity)
        reply.header('content-location', `/v1/runs/${run.id}`)
        return reply.code(202).send({
          run_id: run.id,
          status: run.status,
          replayed_from: source.id,
          conversation_id: run.conversation_id,
        })
      },
    )
  }
}

async function continueRun(runs: Runs, identity: Identity, id: string, wish: ContinuationWish): Promise<RunRecord> {
  const source = await completed(runs, identity.tenantId, id, 'continued')
  const { run, isReplay } = await runs.start(continuationOf(source, wish), identity, {
    previousRunId: source.id,
    // The claim is stored in one unit with the new run: of parallel continuations one wins, and a crash leaves no claim alone.
    idempotency: { key: `${CLAIM}${source.id}`, fingerprint: CLAIM, ttlMs: CLAIM_MS },
  })
  if (isReplay)
    throw new Failure('invalid_request', `run ${id} was already continued, by run ${run.id}; continue that one`)
  return run
}

/** No header can hold a line feed, so no client's Idempotency-Key is this key. */
const CLAIM = 'continue\n'
/** Ten years: longer than any run is kept. */
const CLAIM_MS = 10 * 365 * 86_400_000

async function completed(runs: Runs, tenantId: string, id: string, what: string): Promise<RunRecord> {
  const source = await runs.read(tenantId, id)
  if (!source) throw new Failure('not_found', `no run ${id}`)
  if (source.status !== 'completed')
    throw new Failure('run_not_completed', `run ${id} is ${source.status}; only a completed run can be ${what}`)
  return source
}
