import { type Static, Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { IdParams, type RoutePlugin } from '#contracts/http'
import type { RunCeilings } from '#contracts/run/ceilings'
import type { Runs } from '#contracts/run/runs'
import { resume } from './resume.js'
import { CheckpointRecord } from './schema.js'
import type { StoredCheckpoints } from './stored-checkpoints.js'

const ResumeRequest = Type.Object({
  payload: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Of a question: text values are the answers, by question.',
    }),
  ),
})
const Resumed = Type.Object({ status: Type.Literal('resumed') })

/** Reading and resuming checkpoints. */
export function checkpointRoutes(
  checkpoints: StoredCheckpoints,
  runs: Runs,
  ceilings: RunCeilings | undefined,
): RoutePlugin {
  return async app => {
    app.get(
      '/v1/checkpoints/:id',
      {
        config: { scope: 'runs:read' },
        schema: {
          summary: 'Read a checkpoint',
          tags: ['checkpoints'],
          params: IdParams,
          response: { 200: CheckpointRecord },
        },
      },
      async ({ identity, params }) => {
        const checkpoint = await checkpoints.read(identity.tenantId, params.id)
        if (!checkpoint) throw new Failure('not_found', `no checkpoint ${params.id}`)
        return checkpoint
      },
    )

    app.get(
      '/v1/runs/:id/checkpoint',
      {
        config: { scope: 'runs:read' },
        schema: {
          summary: 'What a run waits for',
          description: 'The pending checkpoint of a run, with its id.',
          tags: ['checkpoints'],
          params: IdParams,
          response: { 200: CheckpointRecord },
        },
      },
      async ({ identity, params }) => {
        const checkpoint = await checkpoints.pendingOf(identity.tenantId, params.id)
        if (!checkpoint) throw new Failure('not_found', `run ${params.id} waits for nothing`)
        return checkpoint
      },
    )

    app.post(
      '/v1/checkpoints/:id/resume',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Resume a checkpoint',
          description: 'Resuming an approval lets the run go on without the call: it is no approval.',
          tags: ['checkpoints'],
          params: IdParams,
          body: Type.Optional(ResumeRequest),
          response: { 200: Resumed },
        },
      },
      async ({ identity, params, body }): Promise<Static<typeof Resumed>> => {
        await resume(checkpoints, runs, ceilings, identity, params.id, body?.payload ?? {})
        return { status: 'resumed' }
      },
    )
  }
}
