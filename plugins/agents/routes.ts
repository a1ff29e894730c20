import { Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { goneSignal, type RoutePlugin } from '#contracts/http'
import type { Runs } from '#contracts/run/runs'
import type { Skills } from '#contracts/skills'
import { taskOf } from './agent-task.js'
import { awaitRun, timeoutOf } from './await-run.js'

const AgentBody = Type.Object({
  prompt: Type.Optional(Type.String({ description: 'What the agent is asked to do. Either this or `skill`.' })),
  skill: Type.Optional(Type.String({ description: 'Name of a skill to run.' })),
  skill_args: Type.Optional(Type.String({ description: 'What the skill is used on.' })),
  allowed_tools: Type.Optional(Type.Array(Type.String(), { maxItems: 1000 })),
  timeout_seconds: Type.Optional(Type.Number({ description: 'Default 120, at most 600.' })),
})
const AgentResult = Type.Object({
  output: Type.String(),
  summary: Type.String(),
  duration_ms: Type.Integer({ minimum: 0 }),
})

/** A run in one request: the reply is its output. */
export function agentRoutes(runs: Runs, skills: Skills | undefined): RoutePlugin {
  return async app => {
    app.post(
      '/v1/agents',
      {
        config: { scope: 'runs:write', timeoutMs: 'none' },
        schema: {
          summary: 'Run an agent and wait for what it says',
          description: 'Ends with the run, or with 408 when its time is over. A client that hangs up cancels the run.',
          tags: ['agents'],
          body: AgentBody,
          response: { 200: AgentResult },
        },
      },
      async ({ identity, body }, reply) => {
        const startedAt = performance.now()
        const gone = goneSignal(reply)
        const task = await taskOf(body, identity.tenantId, skills)
        const run = await awaitRun(runs, identity, { ...task, timeoutSeconds: timeoutOf(body.timeout_seconds) }, gone)
        if (run.status !== 'completed')
          throw new Failure('execution_error', run.error ?? `run ${run.id} was ${run.status} before it finished`)
        reply.header('content-location', `/v1/runs/${run.id}`)
        return { output: run.output ?? '', summary: '', duration_ms: Math.round(performance.now() - startedAt) }
      },
    )
  }
}
