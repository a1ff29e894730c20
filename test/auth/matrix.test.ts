import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Scope } from '#contracts/identity'
import { checkCell, type MatrixKeys, routeMatrix } from '#test/kit/route-matrix'
import { type AuthBench, bootWithAuth } from './auth-bench.js'

let live: AuthBench
let keys: MatrixKeys
beforeAll(async () => {
  live = await bootWithAuth()
  const scoped = (scope: Scope) => live.addKey({ scopes: [scope] })
  const past = '2020-01-01T00:00:00Z'
  keys = {
    garbage: 'not-a-key',
    expired: await live.addKey({ expires_at: past }),
    revoked: await live.addKey({ revoked_at: past }),
    'runs:read': await scoped('runs:read'),
    'runs:write': await scoped('runs:write'),
    admin: await scoped('admin'),
  }
})
afterAll(() => live.stop())

test('the assembled daemon answers every route and every identity as the route declares', async () => {
  const { routes } = live.daemon.host.current.app
  expect(routes.map(({ url }) => url)).toEqual(
    expect.arrayContaining(['/v1/runs', '/v1/runs/:id/events', '/v1/conversations/:id/events', '/v1/config/reload']),
  )
  const cells = routeMatrix(routes)
  expect(cells).toHaveLength(7 * routes.length)
  const wrong = await Promise.all(cells.map(cell => checkCell(live.url, cell, keys)))
  expect(wrong.filter(Boolean)).toEqual([])
})

test('routes of the contract have the scopes of the contract', () => {
  const scopes = Object.fromEntries(
    live.daemon.host.current.app.routes.map(({ method, url, scope }) => [`${method} ${url}`, scope]),
  )
  expect(scopes).toMatchObject({
    'GET /healthz': 'none',
    'POST /v1/runs': 'runs:write',
    'GET /v1/runs': 'runs:read',
    'GET /v1/runs/:id': 'runs:read',
    'GET /v1/runs/:id/events': 'runs:read',
    'GET /v1/runs/:id/summary': 'runs:read',
    'POST /v1/runs/:id/cancel': 'runs:write',
    'GET /v1/conversations/:id/events': 'runs:read',
    'POST /v1/config/reload': 'admin',
  })
})

test.each([
  ['no key', undefined, 401],
  ['a query token', { query: true }, 200],
  ['a bad header, not rescued by a good query token', { query: true, header: 'Bearer nope' }, 401],
  ['a header that is no bearer token, not rescued either', { query: true, header: 'Basic abc' }, 401],
  ['an empty header, not rescued either', { query: true, header: '' }, 401],
])('token precedence: %s', async (_, given, status) => {
  const path = given?.query ? `/v1/plugins?token=${keys.admin}` : '/v1/plugins'
  const reply = await live.request('GET', path, undefined, {
    ...(given && 'header' in given && given.header !== undefined && { authorization: given.header }),
  })
  expect(reply.status).toBe(status)
})

test('what a body says of tenant, id, status, scopes or key prefix counts for nothing', async () => {
  const mine = live.as(keys['runs:write'])
  expect(await mine.request('POST', '/v1/runs', { prompt: 'x', tenant_id: 'other' })).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request' } },
  })
  const reply = await mine.request('POST', '/v1/runs', {
    prompt: 'x',
    id: 'run_mine',
    status: 'completed',
    scopes: ['admin'],
    initiator_api_key_prefix: 'rwaaaaaa',
    privileged: true,
  })
  if (reply.status === 202) {
    expect(reply.body.run_id).not.toBe('run_mine')
    await mine.events(reply.body.run_id)
    const { body } = await mine.request('GET', `/v1/runs/${reply.body.run_id}`)
    expect(body).toMatchObject({ id: reply.body.run_id, tenant_id: 'acme' })
    expect(JSON.stringify(body)).not.toContain('rwaaaaaa')
  } else expect(reply.status).toBe(400)
})
