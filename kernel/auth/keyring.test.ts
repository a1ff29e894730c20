import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { isFailure } from '#contracts/errors'
import { type Identity, OPEN_IDENTITY, resolveTenant, type Scope } from '#contracts/identity'
import type { ApiKey, KeyStore } from '#contracts/store/key-store'
import { createApiKey } from './api-key.js'
import { createKeyring } from './keyring.js'

const START_MS = Date.parse('2026-01-01T00:00:00Z')

function setUp() {
  const rows = new Map<string, ApiKey>()
  const counts = { find: 0, touch: 0 }
  const state = { nowMs: START_MS, authDisabled: false, isBroken: false, hasStore: true }
  const store: KeyStore = {
    async find(prefix) {
      counts.find++
      if (state.isBroken) throw new Error('disk I/O error')
      return rows.get(prefix)
    },
    list: async () => [...rows.values()],
    add: async key => void rows.set(key.prefix, key),
    async revoke(prefix) {
      const row = rows.get(prefix)
      if (row !== undefined) rows.set(prefix, { ...row, revoked_at: new Date(state.nowMs).toISOString() })
      return row !== undefined
    },
    async touch() {
      counts.touch++
    },
  }
  const keyring = createKeyring({
    keyStore: () => (state.hasStore ? store : undefined),
    authDisabled: () => state.authDisabled,
    now: () => state.nowMs,
  })
  const addKey = async (more: Partial<ApiKey> = {}) => {
    const { text, prefix, digest } = createApiKey()
    const scopes: readonly Scope[] = ['runs:read']
    await store.add({
      prefix,
      digest,
      tenant_id: 'acme',
      name: '',
      scopes,
      created_at: '2026-01-01T00:00:00Z',
      ...more,
    })
    return { text, prefix }
  }
  const ask = async (headers: readonly string[], url = '/v1/runs') => {
    try {
      return await keyring.identify(requestOf(headers, url))
    } catch (error) {
      return isFailure(error) ? `${error.code}: ${error.message}` : String(error)
    }
  }
  return {
    keyring,
    store,
    state,
    counts,
    addKey,
    ask,
    bearer: (text: string) => ask(['Authorization', `Bearer ${text}`]),
  }
}

/** As node builds it: of a repeated header `headers` keeps the first. */
function requestOf(rawHeaders: readonly string[], url: string): IncomingMessage {
  const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === 'authorization')
  const headers = at === -1 ? {} : { authorization: rawHeaders[at + 1] }
  return { headers, rawHeaders, url } as unknown as IncomingMessage
}

const REQUIRED = 'unauthorized: authorization required'
const INVALID = 'unauthorized: invalid api key'
const EXPIRED = 'unauthorized: api key expired'

test('a key gives its tenant, its public id and its scopes; an empty tenant is the default one', async () => {
  const { addKey, bearer } = setUp()
  const key = await addKey({ scopes: ['runs:write', 'admin'] })
  expect(await bearer(key.text)).toEqual({ tenantId: 'acme', keyPrefix: key.prefix, scopes: ['runs:write', 'admin'] })
  expect(await bearer((await addKey({ tenant_id: '' })).text)).toMatchObject({ tenantId: 'default' })
})

test('the header comes before the query, and a bad header is not rescued by a good query', async () => {
  const { addKey, ask } = setUp()
  const { text, prefix } = await addKey()
  const good = `/v1/runs?a=1&token=${text}`
  const known = { keyPrefix: prefix }
  expect(await ask([], good)).toMatchObject(known)
  expect(await ask(['AUTHORIZATION', `bearer ${text}`], '/v1/runs?token=bad')).toMatchObject(known)
  for (const header of [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${text}`,
    text,
    `Bearer ${text} x`,
    `Bearer a,${text}`,
    `Token ${text}`,
  ])
    expect(await ask(['Authorization', header], good)).toBe(REQUIRED)
  expect(await ask(['Authorization', 'Bearer nonsense'], good)).toBe(INVALID)
  const twice = ['Authorization', `Bearer ${text}`, 'authorization', `Bearer ${text}`]
  expect(await ask(twice, good)).toBe(REQUIRED)
  for (const url of ['/v1/runs', '/v1/runs?token=', '/v1/runs?Token=x', `${good}&token=${text}`])
    expect(await ask([], url)).toBe(REQUIRED)
})

test('an unknown id, a wrong secret and a revoked key sound alike; a mistyped key asks no store', async () => {
  const { addKey, bearer, store, counts } = setUp()
  const key = await addKey()
  const revoked = await addKey()
  await store.revoke(revoked.prefix)
  const other = createApiKey()
  await store.add({ ...(await store.list())[0]!, prefix: other.prefix })
  for (const text of [createApiKey().text, other.text, revoked.text]) expect(await bearer(text)).toBe(INVALID)
  expect(counts.find).toBe(3)
  expect(await bearer(`${key.text.slice(0, -1)}${key.text.endsWith('a') ? 'b' : 'a'}`)).toBe(INVALID)
  expect(counts.find).toBe(3)
})

test('an answer of the store is believed for half a second, then a revocation acts', async () => {
  const { addKey, bearer, store, state, counts, keyring } = setUp()
  const key = await addKey()
  const identity = (await bearer(key.text)) as Identity
  await bearer(key.text)
  expect(counts.find).toBe(1)
  expect(await keyring.isStillValid(identity)).toBe(true)
  await store.revoke(key.prefix)
  state.nowMs += 499
  expect(await bearer(key.text)).toBe(identity)
  state.nowMs += 1
  expect(await bearer(key.text)).toBe(INVALID)
  expect(await keyring.isStillValid(identity)).toBe(false)
})

test('a fresh key is known at once, without a promise, and twenty requests ask the store once', async () => {
  const { addKey, keyring, counts } = setUp()
  const key = await addKey()
  const request = requestOf(['Authorization', `Bearer ${key.text}`], '/')
  await Promise.all(Array.from({ length: 20 }, () => keyring.identify(request)))
  expect(counts).toEqual({ find: 1, touch: 1 })
  expect(keyring.identify(request)).not.toBeInstanceOf(Promise)
})

test('an expiry acts to the millisecond, also on a cached key and an open stream', async () => {
  const { addKey, bearer, state, keyring } = setUp()
  const key = await addKey({ expires_at: '2026-01-01T00:00:00.200Z' })
  const identity = (await bearer(key.text)) as Identity
  state.nowMs += 199
  expect(await bearer(key.text)).toBe(identity)
  state.nowMs += 1
  expect(await bearer(key.text)).toBe(EXPIRED)
  expect(await keyring.isStillValid(identity)).toBe(false)
  expect(await bearer((await addKey({ expires_at: 'soon' })).text)).toBe(EXPIRED)
})

test('a clock that jumps back does not keep an answer alive', async () => {
  const { addKey, bearer, store, state } = setUp()
  const key = await addKey()
  await bearer(key.text)
  await store.revoke(key.prefix)
  state.nowMs -= 3_600_000
  expect(await bearer(key.text)).toBe(INVALID)
})

test('the use of a key is noted at most once a minute', async () => {
  const { addKey, bearer, state, counts } = setUp()
  const key = await addKey()
  for (const stepMs of [0, 1000, 58_000, 1000, 30_000]) {
    state.nowMs += stepMs
    await bearer(key.text)
  }
  expect(counts.touch).toBe(2)
})

test('a store that fails is our fault, and is asked again', async () => {
  const { addKey, bearer, state } = setUp()
  const key = await addKey()
  state.isBroken = true
  expect(await bearer(key.text)).toBe('internal_error: auth check failed')
  state.isBroken = false
  expect(await bearer(key.text)).toMatchObject({ tenantId: 'acme' })
})

test('without a key store, or switched off by name, every request may do all as the default tenant', async () => {
  const { ask, state, keyring } = setUp()
  expect(await ask([])).toBe(REQUIRED)
  expect(await keyring.isStillValid(OPEN_IDENTITY)).toBe(false)
  state.authDisabled = true
  expect(await ask(['Authorization', 'junk'])).toBe(OPEN_IDENTITY)
  state.authDisabled = false
  state.hasStore = false
  expect(await ask([])).toBe(OPEN_IDENTITY)
  expect(await keyring.isStillValid(OPEN_IDENTITY)).toBe(true)
})

test('a tenant_id may only name the key’s own tenant; without auth it is a label', () => {
  const acme: Identity = { tenantId: 'acme', keyPrefix: 'rwaaaaaa', scopes: ['runs:read'] }
  expect([undefined, '', 'acme'].map(given => resolveTenant(acme, given))).toEqual(['acme', 'acme', 'acme'])
  expect(() => resolveTenant(acme, 'default')).toThrow('must equal the tenant of the key')
  expect(resolveTenant(OPEN_IDENTITY, 'acme')).toBe('acme')
})
