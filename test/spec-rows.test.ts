import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Permissions } from '#contracts/run/policy'
import { RunRequest } from '#contracts/run/request'
import { RUN_STATUSES } from '#contracts/run/run'
import { type Booted, boot } from '#test/kit/boot'

/**
 * Rows of sections 2 to 4 of the specification that concern a run and what can be done to it, each with the tests that
 * exercise it over HTTP: `file: words of the title`. Bad input of every field is in the two table suites besides. A row
 * whose test is gone or renamed fails here, and so does a field, status or route that has no row.
 */

const LOOP = 'test/run-loop.test.ts'
const EFFECTS = 'test/run-request-effects.test.ts'
const TABLE = 'test/run-request-table.test.ts'
const APPROVALS = 'plugins/approvals/approvals.test.ts'
const QUESTIONS = 'plugins/questions/questions.test.ts'
const STEERING = 'plugins/steering/steering.test.ts'
const CONTROL = 'plugins/run-control/run-control.test.ts'
const PROMPTS = 'plugins/prompts/prompts.test.ts'
const SANDBOX = 'test/sandbox-matrix.test.ts'
const JOBS = 'plugins/shell/jobs.test.ts'
const COMPACTION = 'plugins/compaction/compaction.test.ts'
/** Nothing gives effect to it so far, and it says so. */
const REFUSED = `${TABLE}: is taken, or is 501 where no plugin gives effect to it`

type Rows = Readonly<Record<string, readonly string[]>>

/** Section 2: RunRequest. */
const FIELDS: Rows = {
  prompt: [`${LOOP}: a one-turn run shows the whole sequence`, `${TABLE}: a prompt is required`],
  attachments: [`${PROMPTS}: images are refused by a model`, `${PROMPTS}: reasoning effort and images reach the model`],
  plan_mode: [
    'test/plan-mode/exit.test.ts: the plan waits for approval',
    'test/plan-mode/commands.test.ts: by commands only the plan file',
  ],
  plan_file: [
    'test/plan-mode/exit.test.ts: a plan that was written to the plan file',
    'test/plan-mode/tools.test.ts: a plan file that is %s',
  ],
  model: ['plugins/role-models/role-models.test.ts: without one the model is the one asked for'],
  provider_name: [
    `${EFFECTS}: a provider that nobody has fails the run`,
    'test/reload.test.ts: runs keep what they were admitted with',
  ],
  workspace_type: [REFUSED],
  workspace_path: [`${EFFECTS}: workspace_path roots files and commands`],
  extra_dirs: [`${EFFECTS}: extra_dirs open further places`],
  allow_fallback: [`${TABLE}: is taken, or is 501`, 'test/providers/faults.test.ts: what was done stays done'],
  fallback_providers: [`${TABLE}: is taken, or is 501`, 'test/providers/faults.test.ts: what was done stays done'],
  system_prompt: [`${PROMPTS}: a system prompt of the request is sent as it is`],
  tenant_id: [
    'test/auth/foreign.test.ts: tenant_id',
    'test/auth/matrix.test.ts: what a body says of tenant',
    `${EFFECTS}: what is left out has its default`,
  ],
  conversation_id: [`${LOOP}: the same conversation goes on with its history`],
  agent_id: [`${EFFECTS}: what is left out has its default`],
  agent_intent: [`${PROMPTS}: everything a request asks for stands in its place`],
  task_context: [`${PROMPTS}: everything a request asks for stands in its place`],
  prompt_profile: ['plugins/prompts/extensions.test.ts: is refused as a prompt profile in every deployment'],
  prompt_extensions: [
    `${PROMPTS}: everything a request asks for`,
    'plugins/prompts/extensions.test.ts: stand in the prompt, each once',
  ],
  max_steps: [`${LOOP}: max_steps ends the run as failed`],
  max_turns: [`${LOOP}: max_turns is exhausted by name`],
  max_cost_usd: [`${LOOP}: the cost ceiling completes the run`],
  reasoning_effort: [`${PROMPTS}: reasoning effort and images reach the model`],
  allowed_tools: [
    `${EFFECTS}: allowed_tools offers those and what is always there`,
    `${LOOP}: denied and unlisted tools are neither offered nor run`,
  ],
  denied_tools: [
    `${LOOP}: denied and unlisted tools`,
    'plugins/tool-catalog/tool-catalog.test.ts: denied tools stay denied',
  ],
  mcp_servers: [`${LOOP}: a wish that no plugin gives effect to`, REFUSED],
  dynamic_rules: ['plugins/dynamic-rules/dynamic-rules.test.ts: a rule joins the step after its tool was used'],
  rules: [
    'plugins/permission-rules/permission-rules.test.ts: rules of both places decide',
    `${APPROVALS}: a rule can ask where the policy does not`,
  ],
  profile: [REFUSED],
  parent_context_handoff: [`${PROMPTS}: reads what its parent hands down`],
  permissions: [`${SANDBOX}: what is not asked for is the scope workspace with network`],
  role_models: [
    'plugins/role-models/role-models.test.ts: the primary model of a request',
    `${COMPACTION}: a summary is written by the summarizer`,
  ],
}

/** Section 2: permissions. */
const PERMISSIONS: Rows = {
  sandbox: [`${SANDBOX}: sandbox %s, network %s`],
  network: [`${SANDBOX}: sandbox %s, network %s`],
  approval: [
    `${APPROVALS}: a call that changes something waits`,
    `${APPROVALS}: with all, calls that would run side by side`,
  ],
  rules: ['plugins/permission-rules/permission-rules.test.ts: rules of both places decide'],
  unattended: [`${APPROVALS}: a run without a person (%s) asks nobody`],
}

/** Section 3: from → to. */
const MOVES: Rows = {
  'none → accepted': [`${LOOP}: a one-turn run shows the whole sequence`],
  'queued → running': [`${LOOP}: with a cap of one, a second run is queued`],
  'queued → cancelled': [`${LOOP}: a queued run can be cancelled without ever starting`],
  'running → waiting_for_approval → running, approved': [`${APPROVALS}: a call that changes something waits`],
  'running → waiting_for_approval → running, denied': [`${APPROVALS}: a denied call is reported to the model`],
  'waiting_for_approval → cancelled': [`${APPROVALS}: cancelling takes the question back`],
  'running → waiting_for_user → running': [`${QUESTIONS}: a question waits, is shown, is answered once`],
  'waiting_for_user → failed': [`${QUESTIONS}: a question nobody answers in time fails the run`],
  'waiting_for_user → cancelled': [`${QUESTIONS}: a waiting run is cancelled at once`],
  'running → cancelled': [
    `${LOOP}: cancel ends a run whose model hangs`,
    `${CONTROL}: a run that works inside a tool is cancelled there`,
  ],
  'running → completed': [`${LOOP}: tool calls of a turn are answered in order`],
  'running → failed': [
    `${LOOP}: max_steps ends the run as failed`,
    'plugins/agents/agents.test.ts: a run that fails is an execution error',
  ],
  'completed → continued': [`${CONTROL}: a completed run is continued in its conversation`],
  'not completed → not continued': [`${CONTROL}: only a completed run can be continued or replayed`],
  'running, queued, waiting_for_user → steered': [
    `${STEERING}: what is said during a step is read`,
    `${STEERING}: a queued run reads it with its first step`,
    `${STEERING}: a run that waits for its user reads it`,
  ],
  'over → not steered': [`${STEERING}: a run that ended, or that nobody knows, cannot be steered`],
}

/** Section 4: the routes of runs, jobs, tasks, checkpoints and tools. */
const ROUTES: Rows = {
  'POST /v1/runs': [
    `${LOOP}: a one-turn run shows the whole sequence`,
    `${LOOP}: the same Idempotency-Key starts one run`,
  ],
  'GET /v1/runs': [
    'test/recovery.test.ts: a finished run and its conversation are there',
    'test/run-routes-table.test.ts: is refused by its name',
  ],
  'GET /v1/runs/:id': [`${LOOP}: a one-turn run shows the whole sequence`],
  'GET /v1/runs/:id/events': [
    'test/streams/frames.test.ts: four-line frames of the contract',
    'test/streams/resume.test.ts: a run read in random pieces',
  ],
  'GET /v1/runs/:id/summary': [`${LOOP}: a one-turn run shows the whole sequence`],
  'GET /v1/runs/:id/context': [`${COMPACTION}: the context of a run is told while it works and after it ended`],
  'GET /v1/runs/:id/input': [`${QUESTIONS}: a question waits, is shown, is answered once`],
  'POST /v1/runs/:id/input': [
    `${QUESTIONS}: a question waits, is shown, is answered once`,
    `${QUESTIONS}: and the question still waits`,
  ],
  'GET /v1/runs/:id/todos': ['plugins/todos/todos.test.ts: what the model keeps is what callers read'],
  'PUT /v1/runs/:id/todos': ['plugins/todos/todos.test.ts: what the model keeps is what callers read'],
  'POST /v1/runs/:id/continue': [
    `${CONTROL}: a completed run is continued`,
    `${CONTROL}: of parallel continuations one wins`,
  ],
  'POST /v1/runs/:id/steer': [
    `${STEERING}: what is said during a step`,
    `${STEERING}: ten messages may wait, the eleventh`,
  ],
  'POST /v1/runs/:id/compact': [
    `${COMPACTION}: a run that works is compacted at once`,
    `${COMPACTION}: an unknown run is 404, one that is over is 409`,
  ],
  'POST /v1/runs/:id/cancel': [`${LOOP}: cancel ends a run whose model hangs`],
  'POST /v1/runs/:id/approve': [
    `${APPROVALS}: a call that changes something waits`,
    'test/approval-races.test.ts: the deadline is one more hand in the race',
  ],
  'POST /v1/runs/:id/deny': [`${APPROVALS}: a denied call is reported`],
  'POST /v1/runs/:id/replay': [`${CONTROL}: a replay does the same once more`],
  'GET /v1/runs/:id/checkpoint': [
    'test/run-routes-table.test.ts: /v1/runs/{unknown}%s is 404',
    'plugins/approvals/restart.test.ts: the same call is pending with the same deadline',
  ],
  'POST /v1/agents': [
    'plugins/agents/agents.test.ts: an agent answers with what its run said',
    'plugins/agents/agents.test.ts: 408 and its run is cancelled',
  ],
  'GET /v1/tasks': [`${JOBS}: a job outlives its run`],
  'POST /v1/jobs/:id/kill': [`${JOBS}: a job outlives its run`, `${JOBS}: another tenant’s job is 404`],
  'GET /v1/jobs/:id/output': [`${JOBS}: a job outlives its run`, `${JOBS}: an unknown job is 404`],
  'GET /v1/checkpoints/:id': [
    'plugins/checkpoints/checkpoints.test.ts: what is not there is not found',
    'test/approval-tenancy.test.ts: neither sees nor answers',
  ],
  'POST /v1/checkpoints/:id/resume': [
    'test/checkpoint-resume.test.ts: a question that is resumed',
    'plugins/checkpoints/checkpoints.test.ts: resuming an approval goes on',
  ],
  'GET /v1/tools': ['plugins/tool-catalog/tool-catalog.test.ts: GET /v1/tools lists every tool'],
}

const root = resolve(import.meta.dirname, '../..')
const texts = new Map<string, string>()
const textOf = (file: string): string => {
  const text = texts.get(file) ?? readFileSync(resolve(root, file), 'utf8')
  texts.set(file, text)
  return text
}

describe.each([
  ['run request', FIELDS],
  ['permissions', PERMISSIONS],
  ['states', MOVES],
  ['routes', ROUTES],
] as const)('%s', (_, rows) => {
  test.each(Object.entries(rows))('%s is exercised by tests that are there', (_row, tests) => {
    expect(tests.length).toBeGreaterThan(0)
    for (const one of tests) {
      const [file = '', words = ''] = one.split(/: (.*)/)
      expect(words.length).toBeGreaterThan(8)
      expect(textOf(file).includes(words), one).toBe(true)
    }
  })
})

describe('no row is missing', () => {
  let live: Booted
  beforeAll(async () => {
    live = await boot()
  })
  afterAll(() => live.stop())

  test('of the fields', () => {
    expect(Object.keys(FIELDS).toSorted()).toEqual(Object.keys(RunRequest.properties).toSorted())
    expect(Object.keys(PERMISSIONS).toSorted()).toEqual(Object.keys(Permissions.properties).toSorted())
  })

  test('of the statuses', () => {
    expect(RUN_STATUSES.filter(status => !Object.keys(MOVES).some(move => move.includes(status)))).toEqual([])
  })

  test('of the routes', () => {
    const paths = /^\/v1\/(runs|agents|tasks|jobs|checkpoints|tools)(\/|$)/
    const served = live.daemon.host.current.app.routes
      .filter(({ url, method }) => paths.test(url) && method !== 'HEAD')
      .map(({ method, url }) => `${method} ${url}`)
    expect(Object.keys(ROUTES).toSorted()).toEqual(served.toSorted())
  })
})
