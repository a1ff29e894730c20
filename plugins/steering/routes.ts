import { Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { IdParams, type RoutePlugin } from '#contracts/http'
import type { RunCeilings } from '#contracts/run/ceilings'
import type { RunStatus } from '#contracts/run/run'
import type { Runs } from '#contracts/run/runs'
import type { PostOutcome } from '#contracts/store/run-store'
import { gateOf } from './gate.js'
import { STEER } from './steering.js'

/** How many messages may wait for the next step of a run. */
const MAX_WAITING = 10
const STEERABLE: readonly RunStatus[] = ['queued', 'running', 'waiting_for_user']

const Steer = Type.Object({ prompt: Type.String({ minLength: 1, description: 'What the agent is told.' }) })
const Accepted = Type.Object({ status: Type.Literal('accepted') })

/** A word to a run in flight. */
export function steerRoutes(runs: Runs, ceilings: RunCeilings | undefined): RoutePlugin {
  return async app => {
    app.post(
      '/v1/runs/:id/steer',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Say something to a run in flight',
          description: `The run reads it before its next step. At most ${MAX_WAITING} messages wait.`,
          tags: ['runs'],
          params: IdParams,
          body: Steer,
          response: { 202: Accepted },
        },
      },
      async ({ identity, params, body }, reply) => {
        if (body.prompt.trim() === '') throw new Failure('invalid_request', 'prompt: must say something')
        const run = runs.active(identity.tenantId, params.id)
        if (run) await ceilings?.mayDirect(identity, run)
        await steer(runs, identity.tenantId, params.id, body.prompt)
        return reply.code(202).send({ status: 'accepted' })
      },
    )
  }
}

async function steer(runs: Runs, tenantId: string, runId: string, prompt: string): Promise<void> {
  const run = runs.active(tenantId, runId)
  const send = (): Promise<PostOutcome> =>
    runs.send(tenantId, runId, { kind: STEER, body: { prompt }, limit: MAX_WAITING, whenStatus: STEERABLE })
  if (run?.signal.aborted) throw notActive(runId, 'is being cancelled')
  const outcome = run ? await gateOf(run).post(send) : await send()
  if (outcome === undefined)
    throw run?.status === 'running'
      ? new Failure('run_not_active', `run ${runId} is ending or between two steps; try again in a moment`)
      : notActive(runId, `is ${run?.status}`)
  switch (outcome.kind) {
    case 'posted':
      return
    case 'full':
      throw new Failure(
        'steering_buffer_full',
        `${MAX_WAITING} messages wait for the next step of run ${runId}; send this one after that`,
      )
    case 'refused':
      throw notActive(runId, `is ${outcome.status}`)
    case 'unknown':
      throw new Failure('not_found', `no run ${runId}`)
    case 'taken':
      throw new Failure('internal_error', 'a message without a key cannot be taken')
  }
}

const notActive = (runId: string, state: string): Failure =>
  new Failure('run_not_active', `run ${runId} ${state}; only ${STEERABLE.join(', ')} runs can be steered`)
