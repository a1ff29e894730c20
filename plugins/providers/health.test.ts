import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ModelFailure } from '#contracts/model/client'
import type { FetchedModels } from '#contracts/model/provider'
import { askOnce, type OpenProviders, openProviders, smallEntry } from '#test/kit/open-providers'
import { createSmallWire, said } from '#test/kit/small-wire'
import { plugin } from './index.js'

const START = Date.parse('2026-01-01T00:00:00Z')
let opened: OpenProviders | undefined
beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: START }))
afterEach(async () => {
  vi.useRealTimers()
  await opened?.close()
  opened = undefined
})

const refused: ModelFailure = { category: 'auth', message: 'key refused', status: 401 }
const busy: ModelFailure = { category: 'retryable', message: 'busy', status: 429 }

/** A provider that answers turns and lists as the test says at the moment. */
async function openAcme(more: object = {}) {
  const now: { turn?: ModelFailure | undefined; list: FetchedModels } = {
    list: { kind: 'listed', body: [{ id: 'm' }] },
  }
  let asked = 0
  const wire = createSmallWire({
    answer: () => (now.turn ? { kind: 'failed', failure: now.turn } : said('ok')),
    models: () => {
      asked += 1
      return now.list
    },
  })
  const entries = { acme: smallEntry('acme', more), bolt: smallEntry('bolt') }
  opened = await openProviders(plugin, { entries, wires: [wire], variables: { ACME_API_KEY: 'k' } })
  const { providers, app } = opened
  return {
    providers,
    now,
    asked: () => asked,
    turn: () => askOnce(providers.resolve({ model: 'acme-1' }).candidates[0]!),
    health: () => providers.list().map(({ name, health, healthError }) => [name, health, healthError]),
    check: async () => (await app.inject('/v1/providers?check=true')).json().providers[0].health,
  }
}

const REFUSED =
  'key refused; provider acme: its key was refused; set another ACME_API_KEY, or PUT /v1/providers/acme/key'

test('runs tell whether a key is good; a busy provider says nothing about it', async () => {
  const { now, turn, health } = await openAcme()
  expect(health()).toEqual([
    ['acme', 'unverified', undefined],
    ['bolt', 'unconfigured', undefined],
  ])
  now.turn = busy
  await turn()
  expect(health()[0]).toEqual(['acme', 'unverified', undefined])
  now.turn = refused
  await turn()
  expect(health()[0]).toEqual(['acme', 'failed', REFUSED])
  now.turn = busy
  await turn()
  expect(health()[0]).toEqual(['acme', 'failed', REFUSED])
  now.turn = undefined
  await turn()
  expect(health()[0]).toEqual(['acme', 'ok', undefined])
})

test('a list that can be read does not clear a refused key, a new key does', async () => {
  const { now, turn, health, providers } = await openAcme()
  now.turn = refused
  await turn()
  await providers.fetchModels('acme', new AbortController().signal)
  expect(health()[0]).toEqual(['acme', 'failed', REFUSED])
  await providers.setKey('acme', 'new')
  expect(health()[0]).toEqual(['acme', 'unverified', undefined])
  await providers.fetchModels('acme', new AbortController().signal)
  expect(health()[0]).toEqual(['acme', 'ok', undefined])
})

test('what was seen at one address is not said of another', async () => {
  const { turn, health, providers } = await openAcme()
  await turn()
  const moved = { ...smallEntry('acme'), base_url: 'http://127.0.0.1:9' }
  const undo = providers.overlay({ providers: { acme: moved } })
  expect(health()[0]).toEqual(['acme', 'unverified', undefined])
  await undo()
  expect(health()[0]).toEqual(['acme', 'ok', undefined])
})

test('a check asks each configured provider, at most once a minute', async () => {
  const { now, asked, check, health } = await openAcme()
  expect(await Promise.all([check(), check()])).toEqual(['ok', 'ok'])
  now.list = { kind: 'failed', failure: { category: 'retryable', message: 'connection refused' } }
  vi.setSystemTime(START + 60_000)
  expect([await check(), asked()]).toEqual(['ok', 1])
  vi.setSystemTime(START + 60_001)
  expect([await check(), asked()]).toEqual(['failed', 2])
  expect(health()[0]).toEqual(['acme', 'failed', 'connection refused'])
})

test('a provider without a list is there, and nothing more is known', async () => {
  const { now, check, asked } = await openAcme()
  now.list = { kind: 'failed', failure: { category: 'other', message: 'not found', status: 404 } }
  expect([await check(), await check(), asked()]).toEqual(['unverified', 'unverified', 1])
})

test('a session is tried whenever providers are listed, at most once a minute', async () => {
  const { providers } = await openAcme({ token_source_required: true })
  const list = async () => (await opened!.app.inject('/v1/providers')).json().providers[0]
  expect(await list()).toMatchObject({ health: 'unconfigured', auth_type: 'subscription' })
  let tried = 0
  providers.setCredential('acme', () => {
    tried += 1
    throw new Error('sign in again')
  })
  expect(await list()).toMatchObject({ health: 'failed', health_error: 'sign in again' })
  await list()
  expect(tried).toBe(1)
  providers.setCredential('acme', () => ({ secret: 's' }))
  expect(await list()).toMatchObject({ health: 'ok' })
})

test('a session that never says anything is given ten seconds', async () => {
  const { providers } = await openAcme({ token_source_required: true })
  let patience: AbortSignal | undefined
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => expired.signal)
  const expired = new AbortController()
  providers.setCredential('acme', signal => {
    patience = signal
    return new Promise(() => undefined)
  })
  const listing = opened!.app.inject('/v1/providers')
  await vi.waitUntil(() => patience !== undefined, { timeout: 30_000 })
  expired.abort()
  expect((await listing).json().providers[0]).toMatchObject({ health: 'failed', health_error: 'no answer within 10 s' })
  expect(timeout).toHaveBeenCalledWith(10_000)
  timeout.mockRestore()
})

test('a list that cannot be had is a failure with its reason', async () => {
  const { now, providers } = await openAcme()
  const { signal } = new AbortController()
  const reason = async (name: string) => {
    const listed = await providers.fetchModels(name, signal)
    return listed.kind === 'failed' ? [listed.failure.category, listed.failure.message] : listed.models
  }
  expect(await reason('acme')).toEqual([{ id: 'm' }])
  now.list = { kind: 'listed', body: { data: [] } }
  expect(await reason('acme')).toEqual(['other', 'acme lists no models that can be read'])
  now.list = { kind: 'failed', failure: refused }
  expect(await reason('acme')).toEqual(['auth', REFUSED])
  expect(await reason('bolt')).toEqual(['auth', expect.stringContaining('set BOLT_API_KEY')])
  expect(await reason('nobody')).toEqual(['auth', expect.stringContaining('there is no provider "nobody"')])
})
