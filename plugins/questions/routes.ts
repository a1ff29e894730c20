import { type Static, Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { IdParams, type RoutePlugin } from '#contracts/http'
import type { Identity } from '#contracts/identity'
import type { RunCeilings } from '#contracts/run/ceilings'
import type { RunStatus } from '#contracts/run/run'
import type { Runs } from '#contracts/run/runs'
import { type Answers, problemWith } from './answers.js'
import { ANSWER, type Asked, answerKey, askedBy, PendingInput, TOOL_NAME } from './pending.js'
import { shownQuestion } from './question.js'

const Input = Type.Object({
  answers: Type.Record(Type.String(), Type.String(), {
    description: 'Question text → label of an option; of several options, labels separated by commas.',
  }),
})
const Accepted = Type.Object({ status: Type.Literal('accepted') })

/** Reading and answering the question a run waits with. */
export function inputRoutes(runs: Runs, ceilings: RunCeilings | undefined): RoutePlugin {
  return async app => {
    app.get(
      '/v1/runs/:id/input',
      {
        config: { scope: 'runs:read' },
        schema: {
          summary: 'Read the question a run waits with',
          tags: ['runs'],
          params: IdParams,
          response: { 200: PendingInput },
        },
      },
      async ({ identity, params }): Promise<Static<typeof PendingInput>> => {
        const { call_id, questions, deadline_at } = await pending(runs, identity.tenantId, params.id)
        return { run_id: params.id, call_id, tool: TOOL_NAME, questions: questions.map(shownQuestion), deadline_at }
      },
    )

    app.post(
      '/v1/runs/:id/input',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Answer the question a run waits with',
          description: 'The first answer that is stored counts; every later one gets 409 `no_pending_input`.',
          tags: ['runs'],
          params: IdParams,
          body: Input,
          response: { 202: Accepted },
        },
      },
      async ({ identity, params, body }, reply) => {
        const run = runs.active(identity.tenantId, params.id)
        if (run) await ceilings?.mayDirect(identity, run)
        await post(runs, identity, params.id, body.answers)
        return reply.code(202).send({ status: 'accepted' })
      },
    )
  }
}

async function post(runs: Runs, { tenantId, keyPrefix }: Identity, runId: string, answers: Answers): Promise<void> {
  const asked = await pending(runs, tenantId, runId)
  const problem = problemWith(answers, asked.questions)
  if (problem) throw new Failure('invalid_request', problem)
  const outcome = await runs.send(tenantId, runId, {
    kind: ANSWER,
    key: answerKey(asked.step, asked.call_id),
    body: { answers, ...(keyPrefix && { by: keyPrefix }) },
    whenStatus: ['waiting_for_user'],
  })
  if (outcome.kind === 'unknown') throw unknownRun(runId)
  if (outcome.kind !== 'posted') throw nothingPending(runId, outcome.kind === 'refused' ? outcome.status : undefined)
  acceptedIn(runs, tenantId, runId)?.add(answerKey(asked.step, asked.call_id))
}

async function pending(runs: Runs, tenantId: string, runId: string): Promise<Asked> {
  const record = await runs.read(tenantId, runId)
  if (!record) throw unknownRun(runId)
  const active = runs.active(tenantId, runId)
  const asked = active && askedBy(active)
  const isOpen =
    asked &&
    !active.signal.aborted &&
    !asked.answers &&
    !acceptedIn(runs, tenantId, runId)?.has(answerKey(asked.step, asked.call_id))
  if (record.status !== 'waiting_for_user' || !isOpen)
    throw nothingPending(runId, record.status === 'waiting_for_user' ? undefined : record.status)
  return asked
}

const ACCEPTED = Symbol.for('runwright.questions.accepted')

/** Questions whose answer is accepted but not yet read by the run. */
const acceptedIn = (runs: Runs, tenantId: string, runId: string): Set<string> | undefined =>
  runs.active(tenantId, runId)?.slot(ACCEPTED, () => new Set<string>())

const unknownRun = (id: string): Failure => new Failure('not_found', `no run ${id}`)
/** Without a status: it waited, and an answer or the time-out was first. */
const nothingPending = (id: string, status?: RunStatus): Failure =>
  new Failure(
    'no_pending_input',
    `run ${id} does not wait for an answer: ${status ? `it is ${status}` : 'the question is answered, or its time is up'}`,
  )
