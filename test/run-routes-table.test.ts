import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { type FieldRow, LIST, OBJECT, TEXT, withValue, word, wrongTypesOf } from '#test/kit/field-table'

/**
 * Section 4 of the specification, the routes around a run: each member of a body with every type it does not have and with
 * values that are not allowed, over HTTP; the answer is 400 and names it. And what is unknown is 404 everywhere.
 */

let live: Booted
let runId = ''
beforeAll(async () => {
  live = await boot({ isDurable: true })
  runId = (await live.run('hi'))[0]!.run_id
})
afterAll(() => live.stop())

const RULE = { pattern: 'bash', effect: 'ask' }

interface Route {
  /** A body that is right; members are changed one at a time. */
  readonly body: object
  readonly fields: Readonly<Record<string, FieldRow>>
  /** Members without which the body is refused. */
  readonly required?: readonly string[]
}

const PERMISSIONS: Readonly<Record<string, FieldRow>> = {
  permissions: OBJECT,
  'permissions.sandbox': word('moon'),
  'permissions.approval': word('some'),
  'permissions.network': word('maybe'),
  'permissions.unattended': word('go'),
  'permissions.rules': LIST,
  'permissions.rules[0]': OBJECT,
  'permissions.rules[0].pattern': word(''),
  'permissions.rules[0].effect': word('maybe'),
}

/** By method and path; `:run` is a run that has completed. */
const ROUTES: Readonly<Record<string, Route>> = {
  'POST /v1/runs/:run/continue': {
    body: { prompt: 'x', allowed_tools: ['read'], permissions: { sandbox: 'local', rules: [RULE] } },
    fields: { prompt: word('', ' \n'), allowed_tools: LIST, 'allowed_tools[0]': TEXT, ...PERMISSIONS },
    required: ['prompt'],
  },
  'POST /v1/runs/:run/steer': { body: { prompt: 'x' }, fields: { prompt: word('', ' \n') }, required: ['prompt'] },
  'POST /v1/runs/:run/input': {
    body: { answers: { q: 'a' } },
    fields: { answers: OBJECT, 'answers.q': TEXT },
    required: ['answers'],
  },
  'PUT /v1/runs/:run/todos': {
    body: { todos: [{ id: 'a', text: 'x', status: 'pending' }] },
    fields: {
      todos: { type: 'array', bad: [Array(501).fill({ text: 'x' })] },
      'todos[0]': OBJECT,
      'todos[0].id': word('', 'x'.repeat(129)),
      'todos[0].text': word('', 'x'.repeat(10_001)),
      'todos[0].status': word('done', 'PENDING'),
    },
    required: ['todos', 'todos[0].text'],
  },
  'POST /v1/runs/:run/compact': {
    body: { mode: 'strip', keep_last: 4, instruction: 'x' },
    fields: {
      mode: word('gut', 'STRIP'),
      keep_last: { type: 'integer', bad: [-1, 1e9] },
      instruction: word('x'.repeat(16_385)),
    },
  },
  'POST /v1/runs/:run/approve': {
    body: { option: 'a', call_id: 'b' },
    fields: { option: word('x'.repeat(257)), call_id: word('x'.repeat(1025)) },
  },
  'POST /v1/runs/:run/deny': {
    body: { message: 'a', call_id: 'b' },
    fields: { message: word('x'.repeat(4097)), call_id: word('x'.repeat(1025)) },
  },
  'POST /v1/checkpoints/checkpoint_x/resume': { body: { payload: { a: 1 } }, fields: { payload: OBJECT } },
  'POST /v1/agents': {
    body: { prompt: 'x', allowed_tools: ['read'], timeout_seconds: 1 },
    fields: {
      prompt: { type: 'string', bad: [' '] },
      skill: TEXT,
      skill_args: TEXT,
      allowed_tools: LIST,
      'allowed_tools[0]': TEXT,
      timeout_seconds: { type: 'number' },
    },
    required: ['prompt'],
  },
}

async function send(route: string, body: unknown) {
  const [method = '', path = ''] = route.replace(':run', runId).split(' ')
  return live.request(method, path, body)
}
async function expectRefusal(route: string, path: string, body: unknown): Promise<void> {
  const reply = await send(route, body)
  const shown = JSON.stringify(body).slice(0, 80)
  expect([shown, reply.status, reply.body.error?.code]).toEqual([shown, 400, 'invalid_request'])
  expect(reply.body.error.message.startsWith(path), `${path}: ${reply.body.error.message}`).toBe(true)
}

describe.each(Object.entries(ROUTES))('%s', (route, { body, fields, required = [] }) => {
  test('refuses a member of another type by its name', async () => {
    for (const [path, row] of Object.entries(fields))
      for (const value of wrongTypesOf(row)) await expectRefusal(route, path, withValue(body, path, value))
  })

  test('refuses what is not allowed, and what is missing, by its name', async () => {
    for (const [path, { bad = [] }] of Object.entries(fields))
      for (const value of bad) await expectRefusal(route, path, withValue(body, path, value))
    for (const path of required) await expectRefusal(route, path, withValue(body, path, undefined))
    await expectRefusal(route, 'the body must be an object', [])
  })
})

test('a continuation refuses a permission nobody knows', async () => {
  const body = { prompt: 'x', permissions: { sandbx: 'local' } }
  await expectRefusal('POST /v1/runs/:run/continue', 'permissions.sandbx is not a known field', body)
})

test.each([
  ['status=moon', 'status: must be one of queued, running'],
  ['status=COMPLETED', 'status: must be one of queued, running'],
  ['limit=0', 'limit must be an integer of at least 1'],
  ['limit=1001', 'limit must be an integer of at least 1 and at most 1000'],
])('GET /v1/runs?%s is refused by its name', async (query, says) => {
  const reply = await live.request('GET', `/v1/runs?${query}`)
  expect([reply.status, reply.body.error.code, reply.body.error.message.startsWith(says)]).toEqual([
    400,
    'invalid_request',
    true,
  ])
})

test.each([
  ['GET', ''],
  ['GET', '/events'],
  ['GET', '/summary'],
  ['GET', '/context'],
  ['GET', '/input'],
  ['GET', '/todos'],
  ['GET', '/checkpoint'],
  ['PUT', '/todos', { todos: [] }],
  ['POST', '/input', { answers: {} }],
  ['POST', '/continue', { prompt: 'x' }],
  ['POST', '/steer', { prompt: 'x' }],
  ['POST', '/compact', {}],
  ['POST', '/cancel'],
  ['POST', '/approve'],
  ['POST', '/deny'],
  ['POST', '/replay'],
] as const)('%s /v1/runs/{unknown}%s is 404', async (method, path, body?: object) => {
  const reply = await live.request(method, `/v1/runs/run_x${path}`, body)
  expect([reply.status, reply.body.error.code]).toEqual([404, 'not_found'])
})

test.each([
  ['GET', '/v1/checkpoints/checkpoint_x'],
  ['POST', '/v1/checkpoints/checkpoint_x/resume'],
  ['GET', '/v1/jobs/jm1:job_x/output'],
  ['POST', '/v1/jobs/jm1:job_x/kill'],
  ['GET', '/v1/conversations/nobody/events'],
] as const)('%s %s is 404', async (method, path) => {
  const reply = await live.request(method, path)
  expect([reply.status, reply.body.error.code]).toEqual([404, 'not_found'])
})

test('what a run is not ready for is 409: it is over, or nothing of it is pending', async () => {
  const over = [
    await send('POST /v1/runs/:run/steer', { prompt: 'x' }),
    await send('POST /v1/runs/:run/compact', {}),
    await send('GET /v1/runs/:run/input', undefined),
    await send('POST /v1/runs/:run/input', { answers: {} }),
  ]
  expect(over.map(({ status, body }) => [status, body.error.code])).toEqual([
    [409, 'run_not_active'],
    [409, 'run_not_active'],
    [409, 'no_pending_input'],
    [409, 'no_pending_input'],
  ])
  for (const verb of ['approve', 'deny']) expect((await send(`POST /v1/runs/:run/${verb}`, undefined)).status).toBe(404)
  expect((await send('POST /v1/runs/:run/cancel', undefined)).body).toEqual({ status: 'cancelling' })
  expect((await live.request('GET', `/v1/runs/${runId}`)).body.status).toBe('completed')
})
