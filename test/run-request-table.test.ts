import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Permissions } from '#contracts/run/policy'
import { RunRequest } from '#contracts/run/request'
import { type Booted, boot } from '#test/kit/boot'
import {
  type FieldRow,
  LIST,
  OBJECT,
  stepsOf,
  TEXT,
  valueAt,
  withValue,
  word,
  wrongTypesOf,
} from '#test/kit/field-table'

/**
 * Section 2 of the specification, field by field: what is taken, what is refused, and that a refusal names the field. Every
 * value is sent over HTTP; a field that is not in the table fails the last test of this file.
 */

let live: Booted
let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-table-'))
  await writeFile(join(dir, 'file'), '')
  live = await boot()
})
afterAll(async () => {
  await live.stop()
  await rm(dir, { recursive: true, force: true })
})

interface Row extends FieldRow {
  /** Values that are taken; where nothing gives effect to them they are 501, which also names the field. */
  readonly good: readonly unknown[]
}

const IMAGE = { type: 'image', media_type: 'image/png', data: 'iVBORw0KGgo=' }
const RULE = { pattern: 'bash(git:*)', effect: 'allow' }
const HANDOFF = { parent_run_id: 'run_p', messages: [{ index: 0, role: 'user', content: 'hi' }] }
const TOO_LONG = 'x'.repeat(257)

/** Of `RunRequest`. */
const FIELDS: Readonly<Record<string, Row>> = {
  prompt: { type: 'string', good: ['x'], bad: [''] },
  attachments: {
    type: 'array',
    good: [[], [IMAGE, { ...IMAGE, media_type: 'image/jpeg' }]],
    bad: [Array(101).fill(IMAGE)],
  },
  plan_mode: { type: 'boolean', good: [false, true] },
  plan_file: { type: 'string', good: ['', 'docs/plan.md'], bad: ['a\nb', 'plans/', '.git/config', '.runwright/x'] },
  model: { type: 'string', good: ['', 'some-model'] },
  provider_name: { type: 'string', good: ['', 'fake'] },
  workspace_type: { type: 'string', good: ['', 'local', 'worktree', 'container', 'vm'], bad: ['moon', 'LOCAL'] },
  workspace_path: {
    type: 'string',
    good: ['', '/tmp'],
    bad: ['relative', './x', '/no/such/place', '/tmp\0', '/dev/null'],
  },
  extra_dirs: { type: 'array', good: [[], ['/tmp']], bad: [['relative'], ['/no/such/place'], ['']] },
  allow_fallback: { type: 'boolean', good: [false, true] },
  fallback_providers: { type: 'array', good: [[], ['fake']] },
  system_prompt: { type: 'string', good: ['', 'Be brief.'] },
  tenant_id: { type: 'string', good: ['', 'acme'] },
  conversation_id: { type: 'string', good: ['', 'talk'], bad: [TOO_LONG] },
  agent_id: { type: 'string', good: ['', 'a'] },
  agent_intent: { type: 'string', good: ['', 'general'], bad: ['nope'] },
  task_context: { type: 'string', good: ['', 'x'] },
  prompt_profile: { type: 'string', good: ['', 'default'], bad: ['nope', 'researcher', 'full'] },
  prompt_extensions: {
    type: 'object',
    good: [{}, { behaviors: ['safe'], talents: ['ui'], skills: ['x'], custom: 'y' }],
  },
  max_steps: { type: 'integer', good: [0, 3], bad: [-1] },
  max_turns: { type: 'integer', good: [0, 3], bad: [-1] },
  max_cost_usd: { type: 'number', good: [0, 0.01, 3], bad: [-0.01] },
  reasoning_effort: { type: 'string', good: ['', 'high'] },
  allowed_tools: { type: 'array', good: [[], ['read', 'no_such_tool']] },
  denied_tools: { type: 'array', good: [[], ['bash']] },
  mcp_servers: { type: 'array', good: [[{ name: 'm', command: 'x', args: ['y'] }], []], bad: [[{}], [{ name: '' }]] },
  dynamic_rules: {
    type: 'array',
    good: [[{ id: 'a', trigger: { tool_names: ['read'] }, content: 'b', fire_once: true }], []],
    bad: [[{ content: 'é'.repeat(40_000) }], [{ content: 'x'.repeat(65_537) }], Array(51).fill({ id: 'a' })],
  },
  rules: {
    type: 'array',
    good: [[RULE], []],
    bad: [[{}], [{ ...RULE, pattern: '' }], [{ ...RULE, pattern: 'edit(../x)' }]],
  },
  profile: { type: 'string', good: ['', 'reviewer'] },
  parent_context_handoff: { type: 'object', good: [HANDOFF], bad: [{}], mayBeNull: true },
  permissions: { type: 'object', good: [{ sandbox: 'local', approval: 'all', network: 'deny', rules: [RULE] }, {}] },
  role_models: { type: 'object', good: [{ primary: 'a', summarizer: 'b' }, {}] },
}

/** Members of fields, as they stand in the first good value that has something in it. */
const MEMBERS: Readonly<Record<string, FieldRow>> = {
  'attachments[0]': OBJECT,
  'attachments[0].type': word('', 'video', 'IMAGE'),
  'attachments[0].media_type': word('', 'image/gif', 'text/plain'),
  'attachments[0].data': word('', 'not base64!', 'iVBORw0KGgo', 'iVBO\nRw0='),
  'extra_dirs[0]': TEXT,
  'fallback_providers[0]': TEXT,
  'prompt_extensions.behaviors': LIST,
  'prompt_extensions.behaviors[0]': word('nope'),
  'prompt_extensions.talents': LIST,
  'prompt_extensions.talents[0]': word('nope'),
  'prompt_extensions.skills': LIST,
  'prompt_extensions.skills[0]': TEXT,
  'prompt_extensions.custom': TEXT,
  'allowed_tools[0]': TEXT,
  'denied_tools[0]': TEXT,
  'mcp_servers[0]': OBJECT,
  'mcp_servers[0].name': word(''),
  'mcp_servers[0].command': TEXT,
  'mcp_servers[0].args': LIST,
  'mcp_servers[0].args[0]': TEXT,
  'mcp_servers[0].url': TEXT,
  'dynamic_rules[0]': OBJECT,
  'dynamic_rules[0].id': TEXT,
  'dynamic_rules[0].trigger': OBJECT,
  'dynamic_rules[0].trigger.tool_names': LIST,
  'dynamic_rules[0].trigger.tool_names[0]': TEXT,
  'dynamic_rules[0].content': TEXT,
  'dynamic_rules[0].fire_once': { type: 'boolean' },
  'rules[0]': OBJECT,
  'rules[0].pattern': word('', 'bash(', 'edit(/abs)'),
  'rules[0].effect': word('', 'maybe', 'ALLOW'),
  'permissions.sandbox': word('none', 'Workspace'),
  'permissions.approval': word('some'),
  'permissions.network': word('maybe'),
  'permissions.unattended': word('go', 'WAIT'),
  'permissions.rules': LIST,
  'permissions.rules[0]': OBJECT,
  'permissions.rules[0].pattern': word('', 'bash('),
  'permissions.rules[0].effect': word('maybe'),
  'parent_context_handoff.parent_run_id': TEXT,
  'parent_context_handoff.messages': LIST,
  'parent_context_handoff.messages[0]': OBJECT,
  'parent_context_handoff.messages[0].index': { type: 'integer' },
  'parent_context_handoff.messages[0].role': TEXT,
  'parent_context_handoff.messages[0].content': TEXT,
  'role_models.primary': TEXT,
  'role_models.summarizer': TEXT,
}

/** Objects whose every key is a wish: one that nobody knows is refused, not dropped. */
const CLOSED = [
  'prompt_extensions',
  'permissions',
  'permissions.rules[0]',
  'rules[0]',
  'dynamic_rules[0]',
  'dynamic_rules[0].trigger',
  'role_models',
] as const

/** The first good value of a field that has something in it. */
const filled = (field: string): unknown =>
  FIELDS[field]?.good.find(one => typeof one === 'object' && Object.keys(one as object).length > 0)

/** The body with one value at a path, around it the good value that holds it. */
function bodyWith(path: string, value: unknown): object {
  const [field = ''] = stepsOf(path)
  return withValue(field === path ? { prompt: 'x' } : { prompt: 'x', [field]: filled(field) }, path, value)
}

const post = (body: unknown) => live.request('POST', '/v1/runs', body)

async function expectRefusal(path: string, value: unknown): Promise<void> {
  const { status, body } = await post(bodyWith(path, value))
  const shown = JSON.stringify(value)?.slice(0, 60)
  expect([path, shown, status, body.error?.code]).toEqual([path, shown, 400, 'invalid_request'])
  // Named as the caller wrote it, at the start; a member may be named by what is wrong inside it.
  expect(body.error.message.startsWith(path), `${path} = ${shown}: ${body.error.message}`).toBe(true)
}

const ROWS: readonly (readonly [string, FieldRow])[] = Object.entries({ ...FIELDS, ...MEMBERS })

test.each(ROWS)('%s of another type is refused', async (path, row) => {
  for (const value of wrongTypesOf(row)) await expectRefusal(path, value)
})

test.each(ROWS.filter(([, { bad }]) => bad))(
  '%s with a value that is not allowed is refused',
  async (path, { bad }) => {
    for (const value of bad ?? []) await expectRefusal(path, value)
  },
)

test.each(Object.entries(FIELDS))('%s is taken, or is 501 where no plugin gives effect to it', async (path, row) => {
  for (const value of row.mayBeNull ? [null, ...row.good] : row.good) {
    const { status, body } = await post(bodyWith(path, value))
    if (status === 202) continue
    const named = /^([\w.]+): no running plugin gives effect/.exec(body.error?.message)?.[1] ?? ''
    expect([path, value, status, named.split('.')[0]]).toEqual([path, value, 501, path])
    expect(live.daemon.runs.honoured.has(named)).toBe(false)
  }
})

test.each(ROWS.filter(([, { type }]) => type === 'array').map(([path]) => path))(
  'an item of %s that is wrong behind others that are right is named by its place',
  async path => {
    const [field = ''] = stepsOf(path)
    const list = valueAt({ [field]: filled(field) }, path)
    const [first] = list as readonly unknown[]
    const { status, body } = await post(bodyWith(path, [first, first, 7]))
    expect([status, body.error.message.startsWith(`${path}[2] must be`)]).toEqual([400, true])
  },
)

test.each(CLOSED)('an unknown key of %s is refused by its name', async path => {
  await expectRefusal(`${path}.no_such_key`, 'x')
})

test('unknown fields of the request itself are ignored, and what the server sets is never taken from a body', async () => {
  const { status, body } = await post({ prompt: 'x', no_such_field: { a: 1 }, initiator_api_key_prefix: 'abcdefgh' })
  expect(status).toBe(202)
  expect(JSON.stringify((await live.request('GET', `/v1/runs/${body.run_id}`)).body)).not.toContain('abcdefgh')
})

test.each([
  ['a list', [], 'the body must be an object'],
  ['text', '"x"', 'the body must be an object'],
  ['null', 'null', 'the body must be an object'],
  ['a number that is none', '{"prompt":"x","max_cost_usd":1e999}', 'max_cost_usd must be a number'],
])('%s is no request', async (_, body, says) => {
  const reply = await post(body)
  expect([reply.status, reply.body.error.message.startsWith(says)]).toEqual([400, true])
})

test.each([
  ['half a document', '{"prompt":'],
  ['no body', undefined],
  ['a key that stands twice', '{"prompt":"x","prompt":"y"}'],
])('%s is no JSON', async (_, body) => {
  expect(await post(body)).toMatchObject({ status: 400, body: { error: { code: 'invalid_json' } } })
})

test('a prompt is required', async () => {
  expect((await post({})).body.error).toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/^prompt is missing/),
  })
})

test('every field of a run request, and every permission, is in the table', () => {
  expect(Object.keys(FIELDS).toSorted()).toEqual(Object.keys(RunRequest.properties).toSorted())
  const permissions = Object.keys(Permissions.properties).map(name => `permissions.${name}`)
  expect(permissions.filter(path => !(path in MEMBERS))).toEqual([])
})
