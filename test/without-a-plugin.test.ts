import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'
import { bootOnCopy, type ReloadBench, type ReloadBenchOptions } from '#test/kit/reload-bench'

/**
 * What a daemon without one of the bundled plugins still does, and what it answers where that plugin served. A plugin
 * that is not in this table fails the last test of this file.
 */
interface Expectation {
  /** Request → status and code, where the plugin served. */
  readonly gone?: readonly (readonly [
    method: string,
    path: string,
    body: object | undefined,
    status: number,
    code: string,
  ])[]
  /** Tools that are no longer there. */
  readonly tools?: readonly string[]
  /** Plugins that need it and go with it. */
  readonly refused?: readonly string[]
  /** Runs cannot be had over HTTP. */
  readonly hasNoRunRoutes?: boolean
  readonly boot?: Partial<ReloadBenchOptions>
  /** Answer from a chat server; else from the fake provider. */
  readonly isAnsweredByServer?: boolean
}

const wish = (field: string, value: unknown) =>
  ['POST', '/v1/runs', { prompt: 'hi', [field]: value }, 501, 'not_implemented'] as const

const GIT_TOOLS = [
  ...['git_status', 'git_diff', 'git_log_search', 'git_file_history'],
  ...['git_blame_context', 'git_diff_range', 'git_contributor_context'],
]
const WEB_TOOLS = ['fetch', 'web_fetch', 'download']

const WITHOUT: Readonly<Record<string, Expectation>> = {
  agents: { gone: [['POST', '/v1/agents', { prompt: 'hi' }, 404, 'not_found']] },
  anthropic: {},
  approvals: {
    gone: [
      wish('permissions', { approval: 'destructive' }),
      wish('plan_mode', true),
      ['POST', '/v1/runs/run_1/approve', {}, 404, 'not_found'],
      ['POST', '/v1/runs/run_1/deny', {}, 404, 'not_found'],
    ],
  },
  bubblewrap: { tools: ['job_output', 'job_kill', ...GIT_TOOLS] },
  budgets: { gone: [wish('max_steps', 3), wish('max_turns', 3), wish('max_cost_usd', 1)] },
  catalog: {},
  checkpoints: {
    gone: [
      ['GET', '/v1/checkpoints/c1', undefined, 404, 'not_found'],
      ['POST', '/v1/checkpoints/c1/resume', {}, 404, 'not_found'],
    ],
  },
  compaction: {
    gone: [
      ['GET', '/v1/runs/run_x/context', undefined, 404, 'not_found'],
      ['POST', '/v1/runs/run_x/compact', {}, 404, 'not_found'],
    ],
    tools: ['compact_history', 'reset_context'],
  },
  'config-reload': { gone: [['POST', '/v1/config/reload', undefined, 404, 'not_found']] },
  ceilings: {},
  'context-status': { tools: ['context_status'] },
  conversations: { gone: [['GET', '/v1/conversations/c1/events', undefined, 404, 'not_found']] },
  'dynamic-rules': { gone: [wish('dynamic_rules', [{ id: 'a', content: 'b' }])] },
  fake: { isAnsweredByServer: true },
  'file-tools': { tools: ['read', 'write', 'edit', 'apply_patch', 'file_inspect', 'ls', 'glob', 'grep'] },
  'git-tools': { tools: GIT_TOOLS },
  'live-models': {},
  'model-settings': {
    gone: [
      ['GET', '/v1/model-settings', undefined, 404, 'not_found'],
      ['POST', '/v1/model-settings/providers', { name: 'x', base_url: 'http://x' }, 404, 'not_found'],
      ['DELETE', '/v1/model-settings/providers/x', undefined, 404, 'not_found'],
      ['POST', '/v1/model-settings/providers/x/fetch', undefined, 404, 'not_found'],
      ['POST', '/v1/model-settings/providers/x/expose', { exposed: true }, 404, 'not_found'],
      ['POST', '/v1/model-settings/providers/x/cost', { model: 'm', input: 1, output: 1 }, 404, 'not_found'],
    ],
  },
  'openai-compatible': {},
  'permission-rules': {
    gone: [
      wish('rules', [{ pattern: 'bash', effect: 'deny' }]),
      wish('permissions', { rules: [{ pattern: 'bash', effect: 'deny' }] }),
    ],
  },
  'plan-mode': { gone: [wish('plan_mode', true), wish('plan_file', 'p.md')] },
  prompts: {
    gone: [
      wish('system_prompt', 'x'),
      wish('task_context', 'x'),
      wish('agent_intent', 'general'),
      wish('prompt_profile', 'default'),
      wish('prompt_extensions', { custom: 'x' }),
      wish('parent_context_handoff', { parent_run_id: 'run_x' }),
    ],
    tools: ['create_prompt_extension'],
  },
  providers: {
    refused: ['live-models'],
    gone: [
      wish('fallback_providers', ['anthropic']),
      ['GET', '/v1/models', undefined, 404, 'not_found'],
      ['GET', '/v1/providers', undefined, 404, 'not_found'],
      ['PUT', '/v1/providers/openai/key', { key: 'k' }, 404, 'not_found'],
    ],
  },
  questions: {
    gone: [
      ['GET', '/v1/runs/run_1/input', undefined, 404, 'not_found'],
      ['POST', '/v1/runs/run_1/input', { answers: {} }, 404, 'not_found'],
    ],
    tools: ['AskUserQuestion'],
  },
  recap: {},
  'run-control': {
    gone: [
      ['POST', '/v1/runs/run_1/continue', { prompt: 'hi' }, 404, 'not_found'],
      ['POST', '/v1/runs/run_1/replay', undefined, 404, 'not_found'],
    ],
  },
  'role-models': { gone: [wish('role_models', { primary: 'x' })] },
  runs: { gone: [['POST', '/v1/runs', { prompt: 'hi' }, 404, 'not_found']], hasNoRunRoutes: true },
  'runtime-context': {},
  seatbelt: {},
  shell: {
    gone: [
      ['GET', '/v1/jobs/jm1:job_x/output', undefined, 404, 'not_found'],
      ['POST', '/v1/jobs/jm1:job_x/kill', undefined, 404, 'not_found'],
    ],
    tools: ['bash', 'job_output', 'job_kill'],
  },
  sqlite: { gone: [['GET', '/v1/runs', undefined, 501, 'not_implemented']], boot: { isDurable: true } },
  steering: { gone: [['POST', '/v1/runs/run_1/steer', { prompt: 'hi' }, 404, 'not_found']] },
  tasks: { gone: [['GET', '/v1/tasks', undefined, 404, 'not_found']] },
  subscriptions: {
    gone: [['POST', '/v1/providers/kimi-subscription/import-subscription', undefined, 404, 'not_found']],
  },
  summarize: {
    gone: [['POST', '/v1/summarize', { messages: [{ role: 'user', content: 'hi' }] }, 404, 'not_found']],
  },
  todos: {
    gone: [
      ['GET', '/v1/runs/run_1/todos', undefined, 404, 'not_found'],
      ['PUT', '/v1/runs/run_1/todos', { todos: [] }, 404, 'not_found'],
    ],
    tools: ['todos'],
  },
  'tool-catalog': { gone: [['GET', '/v1/tools', undefined, 404, 'not_found']], tools: ['find_tool'] },
  'tool-lists': { gone: [wish('allowed_tools', ['ls']), wish('denied_tools', ['ls'])] },
  'web-client': { tools: WEB_TOOLS },
  'web-tools': { tools: WEB_TOOLS },
  'working-memory': { tools: ['working_memory'] },
  'workspace-files': { refused: ['file-tools'], tools: ['download'] },
  workspaces: { gone: [wish('workspace_path', '/tmp'), wish('extra_dirs', ['/tmp'])] },
}

let live: ReloadBench | undefined
let server: ChatServer | undefined
afterEach(async () => {
  await live?.stop()
  await server?.close()
  live = undefined
  server = undefined
})

async function bootFor(expected: Expectation, options: ReloadBenchOptions): Promise<ReloadBench> {
  if (expected.isAnsweredByServer) server = await startChatServer({ respond: () => ({ text: 'done' }) })
  live = await bootOnCopy({ ...expected.boot, ...(server && { modelUrl: server.baseUrl }), ...options })
  return live
}

/** Everything else does what it did. */
async function expectTheRest(bench: ReloadBench, name: string, expected: Expectation): Promise<void> {
  for (const [method, path, body, status, code] of expected.gone ?? [])
    expect(await bench.request(method, path, body)).toMatchObject({ status, body: { error: { code } } })
  for (const tool of expected.tools ?? []) expect(bench.daemon.host.current.tools.has(tool)).toBe(false)
  const others = (await bench.rows()).filter(row => row.name !== name)
  expect(others.filter(({ state }) => state !== 'running').map(row => [row.name, row.state])).toEqual(
    (expected.refused ?? []).map(refused => [refused, 'refused']),
  )
  expect((await bench.request('GET', '/readyz')).status).toBe(200)
  if (expected.hasNoRunRoutes) {
    const { run } = await bench.daemon.runs.start({ prompt: 'hi' }, { tenantId: 'default', scopes: 'all' })
    const settled = await bench.daemon.runs.settled('default', run.id, AbortSignal.timeout(10_000))
    expect([settled?.status, settled?.output]).toEqual(['completed', 'done'])
  } else expect((await bench.run('hi')).at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'done' } })
}

describe.each(Object.entries(WITHOUT))('without %s', (name, expected) => {
  test('the daemon starts, says what is gone, and does the rest: folder deleted', async () => {
    const bench = await bootFor(expected, { without: [name] })
    await expectTheRest(bench, name, expected)
    expect(await bench.row(name)).toBeUndefined()
  })

  test('the same when it is switched off', async () => {
    const bench = await bootFor(expected, { config: `[plugins.${name}]\nenabled = false\n` })
    await expectTheRest(bench, name, expected)
    expect(await bench.row(name)).toMatchObject({ state: 'off', adds: { hooks: [], tools: [], routes: [] } })
  })
})

test.each([
  [['fake', 'openai-compatible', 'providers'], /no installed plugin can answer for model .*install a model provider/],
  [['fake', 'openai-compatible'], /SVC_PROVIDER: there is no provider "fake"; there are anthropic/],
])('without %j a run fails with what to do', async (without, words) => {
  live = await bootOnCopy({ without })
  const { type, payload } = (await live.run('hi')).at(-1) ?? {}
  expect([type, payload?.error]).toEqual(['run.failed', expect.stringMatching(words)])
})

test('a database that is configured while no plugin keeps it is warned about', async () => {
  live = await bootOnCopy({ without: ['sqlite'], isDurable: true })
  const warned = live.logged.filter(({ level }) => level === 'warn').map(({ message }) => message)
  expect(warned).toEqual([
    'run_db is set, but no plugin keeps runs in it: they end with this process, and no API key is asked for. Install one (plugins/sqlite ships) or take the setting away',
  ])
})

test('switched off and on again while it runs, a plugin goes and comes back', async () => {
  live = await bootOnCopy()
  const states: unknown[] = []
  for (const enabled of [false, true]) {
    await live.configure(`[plugins.budgets]\nenabled = ${enabled}\n`)
    expect((await live.reload()).body.applied).toEqual(['plugins.budgets'])
    states.push([
      (await live.row('budgets'))?.state,
      (await live.request('POST', '/v1/runs', { prompt: 'a', max_steps: 2 })).status,
    ])
  }
  expect(states).toEqual([
    ['off', 501],
    ['running', 202],
  ])
})

test('every bundled plugin is in the table', () => {
  const folders = readdirSync(resolve(import.meta.dirname, '../plugins'), { withFileTypes: true })
  expect(
    folders
      .filter(entry => entry.isDirectory())
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(Object.keys(WITHOUT).toSorted())
})
