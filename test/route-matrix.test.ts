import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RoutePlugin } from '#contracts/http'
import type { Scope } from '#contracts/identity'
import type { ApiKey, KeyStore } from '#contracts/store/key-store'
import { createApiKey } from '#kernel/auth/api-key'
import { createKeyring } from '#kernel/auth/keyring'
import { bootFront, type FrontUnderTest } from '#test/kit/boot-front'
import { checkCell, type MatrixKeys, routeMatrix } from '#test/kit/route-matrix'

const rows = new Map<string, ApiKey>()
const keyStore: KeyStore = {
  find: async prefix => rows.get(prefix),
  list: async () => [...rows.values()],
  add: async key => void rows.set(key.prefix, key),
  revoke: async () => false,
  touch: async () => {},
}

function addKey(scopes: readonly Scope[], more: Partial<ApiKey> = {}): string {
  const { text, prefix, digest } = createApiKey()
  rows.set(prefix, { prefix, digest, tenant_id: 'acme', name: '', scopes, created_at: '2026-01-01T00:00:00Z', ...more })
  return text
}

const past = '2020-01-01T00:00:00Z'
const keys: MatrixKeys = {
  garbage: 'not-a-key',
  expired: addKey(['admin'], { expires_at: past }),
  revoked: addKey(['admin'], { revoked_at: past }),
  'runs:read': addKey(['runs:read']),
  'runs:write': addKey(['runs:write']),
  admin: addKey(['admin']),
}

const probe: RoutePlugin = async app => {
  app.get('/v1/a/:id', { config: { scope: 'runs:read' } }, async () => ({}))
  app.post('/v1/a', { config: { scope: 'runs:write' } }, async () => ({}))
  app.put('/v1/a/:id/key', { config: { scope: 'admin' } }, async (_request, reply) => reply.code(204).send())
  app.post('/v1/webhooks/chat', { config: { scope: 'none', isRawBody: true } }, async () => ({}))
}

let daemon: FrontUnderTest
beforeAll(async () => {
  const keyring = createKeyring({ keyStore: () => keyStore, authDisabled: () => false, now: Date.now })
  daemon = await bootFront([probe], { identify: request => keyring.identify(request) })
})
afterAll(() => daemon.close())

test('every route answers every identity as its declaration says', async () => {
  const cells = routeMatrix(daemon.app.routes)
  expect(cells).toHaveLength(7 * daemon.app.routes.length)
  const wrong = await Promise.all(cells.map(cell => checkCell(daemon.url, cell, keys)))
  expect(wrong.filter(Boolean)).toEqual([])
})

test('the matrix notices a route that lets everybody in, and one that lets nobody in', async () => {
  const [open] = routeMatrix([{ method: 'GET', url: '/healthz', plugin: 'x', scope: 'admin' }])
  expect(await checkCell(daemon.url, open!, keys)).toMatch(/GET \/healthz as none: 200/)
  const closed = routeMatrix([{ method: 'PUT', url: '/v1/a/:id/key', plugin: 'x', scope: 'runs:read' }])
  expect(await checkCell(daemon.url, closed[4]!, keys)).toMatch(/403, though it should be let in/)
})
