import { Type } from '@sinclair/typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '#contracts/errors'
import type { RoutePlugin } from '#contracts/http'
import { RunRequest } from '#contracts/run/request'
import { bootFront, type FrontUnderTest } from '#test/kit/boot-front'
import { composeApp } from './compose-app.js'

const probe: RoutePlugin = async app => {
  const write = { config: { scope: 'runs:write' as const } }
  const read = { config: { scope: 'runs:read' as const } }
  app.post('/v1/runs', { ...write, schema: { body: RunRequest } }, async request => request.body)
  app.post('/v1/any', write, async request => ({ got: request.body ?? null }))
  app.post(
    '/v1/optional',
    { ...write, schema: { body: Type.Optional(Type.Object({ option: Type.String() })) } },
    async request => ({ got: request.body ?? null }),
  )
  app.post('/v1/raw', { config: { scope: 'none', isRawBody: true } }, async request => ({
    hex: (request.body as Buffer).toString('hex'),
    tenant: request.identity.tenantId,
    scopes: request.identity.scopes,
  }))
  app.post('/v1/small', { config: { scope: 'runs:write', bodyLimitBytes: 10 } }, async () => ({}))
  app.get(
    '/v1/list',
    {
      ...read,
      schema: {
        querystring: Type.Object({
          limit: Type.Integer({ default: 50, minimum: 1, maximum: 100 }),
          offset: Type.Optional(Type.Integer()),
          name: Type.Optional(Type.String()),
          isOpen: Type.Optional(Type.Boolean()),
        }),
      },
    },
    async request => request.query,
  )
  app.get('/v1/things/:id', read, async request => request.params)
  app.delete('/v1/things/:id', write, async (_request, reply) => reply.code(204).send())
  app.post('/mcp', write, async () => ({}))
  app.get('/v1/never', read, () => new Promise(() => {}))
  app.get('/v1/slow', { config: { scope: 'runs:read', timeoutMs: 'none' } }, async () => {
    await new Promise(resolve => setTimeout(resolve, 120))
    return {}
  })
  app.get('/v1/fails/:code', read, async request => {
    const { code } = request.params as { code: string }
    if (code === 'bug') throw new TypeError('secret detail')
    if (code === 'scope') throw new Failure('insufficient_scope', 'x', { details: { required: 'admin' } })
    throw new Failure(code as 'not_found', `told ${code}`, { details: { retryAfterSeconds: 7 } })
  })
}

let daemon: FrontUnderTest
beforeAll(async () => {
  daemon = await bootFront([probe], { handlerTimeoutMs: 60 })
})
afterAll(() => daemon.close())

const send = async (method: string, path: string, body?: string | Uint8Array, headers: Record<string, string> = {}) => {
  const reply = await fetch(daemon.url + path, { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await reply.text()
  return { status: reply.status, headers: reply.headers, body: text === '' ? undefined : JSON.parse(text) }
}
const json = { 'content-type': 'application/json' }
const post = (path: string, body: unknown) => send('POST', path, JSON.stringify(body), json)

describe('a body', () => {
  test('reaches the handler as it was sent, unknown fields included', async () => {
    const sent = { prompt: 'hi', max_steps: 3, colour: 'red' }
    expect(await post('/v1/runs', sent)).toMatchObject({ status: 200, body: sent })
  })

  test.each([
    [
      { prompt: 'x', permissions: { network: 'maybe' } },
      'permissions.network must be one of "allow", "deny", not "maybe"',
    ],
    [{}, 'prompt is missing; it must be a string that is not empty'],
    [{ prompt: '' }, 'prompt must be a string that is not empty, not an empty string'],
    [{ prompt: 5 }, 'prompt must be a string that is not empty, not 5'],
    [{ prompt: 'x', max_steps: -1 }, 'max_steps must be an integer of at least 0, not -1'],
    [{ prompt: 'x', max_steps: '3' }, 'max_steps must be an integer of at least 0, not a string of 1 characters'],
    [{ prompt: 'x', max_steps: 1.5 }, 'max_steps must be an integer of at least 0, not 1.5'],
    [{ prompt: 'x', allowed_tools: ['a', 7] }, 'allowed_tools[1] must be a string, not 7'],
    [
      { prompt: 'x', parent_context_handoff: { parent_run_id: 3 } },
      'parent_context_handoff.parent_run_id must be a string, not 3',
    ],
    [
      { prompt: 'x', rules: [{ pattern: 'bash', effect: 'nope' }] },
      'rules[0].effect must be one of "allow", "ask", "deny"',
    ],
    [[], 'the body must be an object, not an array of 0 items'],
    [null, 'the body must be an object, not null'],
  ])('%j is refused with the field, the reason and what is allowed', async (body, message) => {
    const reply = await post('/v1/runs', body)
    expect(reply).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
    expect(reply.body.error.message).toContain(message)
  })

  test.each<[string, string | Uint8Array, RegExp]>([
    ['cut off', '{"prompt":', /does not parse/],
    ['empty', '', /empty/],
    ['two values', '{} {}', /does not parse/],
    ['a key twice', '{"prompt":"a","prompt":"b"}', /same key twice/],
    ['a key twice, once escaped', '{"prompt":"a","\\u0070rompt":"b"}', /same key twice/],
    ['a key twice far inside', '{"prompt":"a","x":[{"y":{"k":1,"k":{"l":2}}}]}', /same key twice/],
    ['broken UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), /not UTF-8/],
    ['101 levels', `${'['.repeat(101)}${']'.repeat(101)}`, /nested deeper than 100/],
    ['100,000 small objects', `[${'{},'.repeat(100_000)}{}]`, /more than 50000/],
    ['a million levels', '['.repeat(1_000_000), /nested deeper/],
  ])('that is %s answers invalid_json', async (_what, body, message) => {
    const reply = await send('POST', '/v1/runs', body, json)
    expect(reply).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_json', message: expect.stringMatching(message) } },
    })
  })

  test('may hold braces, colons and quotes inside its texts, and 100 levels', async () => {
    const deep = JSON.parse(`${'['.repeat(99)}${']'.repeat(99)}`)
    const sent = { prompt: 'a:"{[\\":\\\\"', 'k:"': ['\\', '\\\\"', ':'], deep }
    expect(await post('/v1/runs', sent)).toMatchObject({ status: 200, body: sent })
  })

  test('loses a __proto__ key and changes no prototype', async () => {
    const reply = await send(
      'POST',
      '/v1/runs',
      '{"prompt":"x","__proto__":{"owned":1},"constructor":{"prototype":{"owned":1}}}',
      json,
    )
    expect(reply.status).toBe(200)
    expect(Object.hasOwn(reply.body, '__proto__')).toBe(false)
    expect(({} as { owned?: number }).owned).toBeUndefined()
  })

  test.each([
    ['text/plain', '{"prompt":"x"}', 415],
    ['application/x-www-form-urlencoded', 'prompt=x', 415],
    ['application/jsonp', '{"prompt":"x"}', 415],
    ['text/plain; application/json', '{"prompt":"x"}', 415],
    ['application/json; charset=utf-8', '{"prompt":"x"}', 200],
    ['Application/JSON', '{"prompt":"x"}', 200],
  ])('of type %s answers as it should', async (type, body, status) => {
    for (const path of ['/v1/runs', '/v1/any'])
      expect((await send('POST', path, body, { 'content-type': type })).status).toBe(status)
  })

  test('may be absent where none is read, with or without a type', async () => {
    const absent = { status: 200, body: { got: null } }
    for (const path of ['/v1/any', '/v1/optional']) {
      expect(await send('POST', path)).toMatchObject(absent)
      expect(await send('POST', path, '', json)).toMatchObject(absent)
      expect(await send('POST', path, '', { 'content-type': 'text/plain' })).toMatchObject(absent)
    }
    expect(await post('/v1/optional', { option: 5 })).toMatchObject({ status: 400 })
    expect(await send('POST', '/v1/runs')).toMatchObject({ status: 400, body: { error: { code: 'invalid_json' } } })
  })

  test('that is too large is refused and the connection lives on', async () => {
    const tooLarge = { status: 413, body: { error: { code: 'request_too_large' } } }
    expect(await post('/v1/runs', { prompt: 'x'.repeat(1024 * 1024) })).toMatchObject(tooLarge)
    expect(await post('/v1/small', { prompt: 'x' })).toMatchObject(tooLarge)
    expect(await post('/v1/small', {})).toMatchObject({ status: 200 })
  })

  test('of a raw route arrives byte for byte, and its caller has no rights', async () => {
    const reply = await send('POST', '/v1/raw', Buffer.from([0xef, 0xbb, 0xbf, 0x0d, 0x0a, 0xff]), {
      'content-type': 'text/x',
    })
    expect(reply.body).toEqual({ hex: 'efbbbf0d0aff', tenant: 'default', scopes: [] })
    expect((await send('POST', '/v1/raw')).body.hex).toBe('')
  })
})

test.each([
  ['', { limit: 50 }],
  ['?limit=7&offset=12', { limit: 7, offset: 12 }],
  ['?limit=x&offset=-3', { limit: 50 }],
  ['?limit=1e1&offset=0x1', { limit: 50 }],
  ['?limit=99999999999999999999', { limit: 50 }],
  ['?limit=1&limit=2', { limit: 50 }],
  ['?name=5&isOpen=true&extra=1', { limit: 50, name: '5', isOpen: true, extra: '1' }],
])('the query %s is read as %j', async (query, values) => {
  expect(await send('GET', `/v1/list${query}`)).toMatchObject({ status: 200, body: values })
})

test('a number out of its range, and a text given twice, are refused by name', async () => {
  const range = await send('GET', '/v1/list?limit=101')
  expect(range.body.error.message).toBe('limit must be an integer of at least 1 and at most 100, not 101')
  expect(await send('GET', '/v1/list?name=a&name=b')).toMatchObject({ status: 400 })
})

test.each<[string, number, unknown, Record<string, string>]>([
  ['not_found', 404, { error: { code: 'not_found', message: 'told not_found' } }, {}],
  [
    'unauthorized',
    401,
    { error: { code: 'unauthorized', message: 'told unauthorized' } },
    { 'www-authenticate': 'Bearer' },
  ],
  ['scope', 403, { error: 'insufficient_scope', required: 'admin' }, {}],
  ['unavailable', 503, { error: { code: 'unavailable', message: 'told unavailable' } }, { 'retry-after': '7' }],
  ['rate_limited', 429, { error: { code: 'rate_limited', message: 'told rate_limited' } }, { 'retry-after': '7' }],
  ['not_implemented', 501, { error: { code: 'not_implemented', message: 'told not_implemented' } }, {}],
  ['from_the_future', 500, { error: { code: 'from_the_future', message: 'told from_the_future' } }, {}],
  ['bug', 500, { error: { code: 'internal_error', message: 'internal error' } }, {}],
])('the failure %s goes out as %i', async (code, status, body, headers) => {
  const reply = await send('GET', `/v1/fails/${code}`)
  expect(reply).toMatchObject({ status, body })
  for (const [name, value] of Object.entries(headers)) expect(reply.headers.get(name)).toBe(value)
})

test('a bug is logged with its cause and its token is not', async () => {
  daemon.lines.length = 0
  await send('GET', '/v1/fails/bug?token=hush&x=1')
  expect(daemon.lines).toMatchObject([
    { level: 'error', facts: { url: '/v1/fails/bug?token=***&x=1', err: expect.any(TypeError) } },
  ])
})

test('a path without a route is 404, and with other methods 405, also with a broken body', async () => {
  const missing = { status: 404, body: { error: { code: 'not_found' } } }
  expect(await send('GET', '/v1/nothing')).toMatchObject(missing)
  expect(await send('POST', '/v1/nothing', '{', json)).toMatchObject(missing)
  expect(await send('GET', '/v1/runs/')).toMatchObject(missing)
  const wrong = await send('GET', '/mcp')
  expect(wrong).toMatchObject({
    status: 405,
    body: { error: { code: 'method_not_allowed', message: 'method not allowed' } },
  })
  expect(wrong.headers.get('allow')).toBe('POST')
  expect((await send('PATCH', '/v1/things/5', '{', json)).headers.get('allow')).toBe('GET, HEAD, DELETE')
  expect((await send('DELETE', '/v1/things/5')).status).toBe(204)
})

test('HEAD answers like GET without a body, except on streams; OPTIONS names the methods', async () => {
  const head = await send('HEAD', '/v1/list')
  expect([head.status, head.body, head.headers.get('content-length')]).toEqual([200, undefined, '12'])
  expect((await send('HEAD', '/v1/slow')).status).toBe(405)
  expect((await send('HEAD', '/v1/runs')).status).toBe(405)
  const options = await send('OPTIONS', '/v1/things/5')
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, DELETE'])
  expect((await send('OPTIONS', '/v1/nothing')).status).toBe(404)
})

test('an ordinary handler is answered for at its limit, a declared long one is not', async () => {
  const late = await send('GET', '/v1/never')
  expect(late).toMatchObject({ status: 503, body: { error: { code: 'timeout', message: 'request timed out' } } })
  expect(late.headers.get('retry-after')).toBe('1')
  expect((await send('GET', '/v1/slow')).status).toBe(200)
})

test('every lease is back once the replies are out', async () => {
  await send('GET', '/v1/list')
  await expect.poll(() => daemon.leases.out).toBe(0)
})

test.each<[string, RoutePlugin, RegExp]>([
  [
    'without a scope',
    async app => void app.get('/v1/x', async () => ({})),
    /probe: .*GET \/v1\/x declares no config.scope/,
  ],
  [
    'outside the plugin paths',
    async app => void app.get('/v1x', { config: { scope: 'none' } }, async () => ({})),
    /must stand below/,
  ],
  [
    'that stands already',
    async app => {
      app.get('/v1/a/:id', { config: { scope: 'none' } }, async () => ({}))
      app.get('/v1/a/:name', { config: { scope: 'none' } }, async () => ({}))
    },
    /already declared by plugin probe/,
  ],
  [
    'with a schema that is none of ours',
    async app =>
      void app.post(
        '/v1/x',
        { config: { scope: 'none' }, schema: { body: { type: 'object' } as never } },
        async () => ({}),
      ),
    /not a typebox schema/,
  ],
  ['that throws', async () => Promise.reject(new Error('no luck')), /no luck/],
])('a route %s is refused at composition', async (_what, routes, message) => {
  const { front } = daemon
  expect(front.isStopping).toBe(false)
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const composing = composeApp([{ plugin: 'probe', routes: [routes] }], {
    identify: () => ({ tenantId: 'default', scopes: 'all' }),
    log,
  })
  await expect(composing).rejects.toThrow(message)
  await expect(composing).rejects.toMatchObject({ details: { plugin: 'probe' } })
})
