import { createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { ModelOutcome } from '#contracts/model/client'
import type { WireOptions } from '#contracts/model/provider'
import { askOnce, type OpenProviders, openProviders, smallEntry } from '#test/kit/open-providers'
import { createSmallWire, said } from '#test/kit/small-wire'
import { plugin } from './index.js'

let opened: OpenProviders | undefined
afterEach(async () => {
  await opened?.close()
  opened = undefined
})

const entry = smallEntry('acme', { headers: { 'x-app': 'runwright' }, model_prefix: 'models/' })
const ANYONE = { ACME_API_KEY: 'k' }
const candidate = ({ providers }: OpenProviders) => providers.resolve({ model: 'acme-1' }).candidates[0]!

/** Turns that wait until the test lets them go. */
function heldTurns() {
  const waiting: (() => void)[] = []
  const wire = createSmallWire({
    answer: request => new Promise<ModelOutcome>(resolve => waiting.push(() => resolve(said(request.model)))),
  })
  const release = (): void => {
    for (const go of waiting.splice(0)) go()
  }
  return { wire, release, waiting }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

test('one client serves all runs, opened by the first request, with headers and prefix of its entry', async () => {
  opened = await openProviders(plugin, { entries: { acme: entry }, variables: ANYONE })
  const { wire } = opened
  const [one, two] = [candidate(opened), candidate(opened)]
  expect([one.client === two.client, wire.opened.length]).toEqual([true, 0])
  await askOnce(one)
  await askOnce(two)
  expect(wire.opened).toHaveLength(1)
  expect(wire.calls[0]).toEqual({
    provider: 'acme',
    baseUrl: 'https://acme.example/v1',
    secret: 'k',
    headers: { 'x-app': 'runwright' },
    model: 'models/acme-1',
  })
})

test.each<[string, (live: OpenProviders) => unknown]>([
  ['its key changes', live => live.providers.setKey('acme', 'new')],
  ['another entry is laid over it', live => live.providers.overlay({ providers: { acme: { ...entry, headers: {} } } })],
])('when %s, a client finishes the turns it has and is closed then', async (_, change) => {
  const { wire, release, waiting } = heldTurns()
  opened = await openProviders(plugin, { entries: { acme: entry }, variables: ANYONE, wires: [wire] })
  const before = candidate(opened)
  const turn = askOnce(before)
  await settled()
  await change(opened)
  const after = candidate(opened)
  expect([before.client === after.client, wire.closed]).toEqual([false, []])
  release()
  expect(await turn).toMatchObject({ text: 'acme-1' })
  await settled()
  expect(wire.closed).toHaveLength(1)
  // A run that still holds it is served, and what was opened for that is closed again.
  const later = askOnce(before)
  await settled()
  expect(waiting).toHaveLength(1)
  release()
  await later
  await settled()
  expect(wire.closed).toHaveLength(2)
})

test('what is laid over another provider leaves a client alone', async () => {
  opened = await openProviders(plugin, { entries: { acme: entry }, variables: ANYONE })
  const before = candidate(opened)
  const undo = opened.providers.overlay({ providers: { bolt: smallEntry('bolt') }, prices: { acme: {} } })
  expect(candidate(opened).client).toBe(before.client)
  await undo()
  expect(candidate(opened).client).toBe(before.client)
})

test('closing the plugin closes every client, also a replaced one that still works', async () => {
  const { wire } = heldTurns()
  const live = await openProviders(plugin, { entries: { acme: entry }, variables: ANYONE, wires: [wire] })
  void askOnce(candidate(live))
  await settled()
  await live.providers.setKey('acme', 'new')
  void askOnce(candidate(live))
  await settled()
  await live.close()
  expect(wire.closed).toHaveLength(2)
})

test('a wire that cannot be opened fails the turn with its reason', async () => {
  const wire = {
    protocols: ['small'],
    open: () => {
      throw new Error('no such version')
    },
  }
  opened = await openProviders(plugin, { entries: { acme: entry }, variables: ANYONE, wires: [wire] })
  expect(await askOnce(candidate(opened))).toEqual({
    kind: 'failed',
    failure: { category: 'other', message: 'no such version' },
  })
})

test('a wire asks for traits as they are now: of the entry, of what is learned, of an unknown model', async () => {
  const model = { context_window: 1, api: 'responses' as const, quirks: ['own'], max_output_tokens: 5 }
  const quirky = smallEntry('acme', { quirks: ['shared'], models: { 'acme-1': model } })
  opened = await openProviders(plugin, { entries: { acme: quirky }, variables: ANYONE })
  await askOnce(candidate(opened))
  const { traits } = opened.wire.opened[0] as WireOptions
  opened.providers.learn('acme', [{ id: 'acme-2', maxOutputTokens: 7 }])
  expect(['acme-1', 'acme-2', 'acme-3', 'constructor'].map(traits)).toEqual([
    { api: 'responses', quirks: new Set(['shared', 'own']), maxOutputTokens: 5 },
    { api: '', quirks: new Set(['shared']), maxOutputTokens: 7 },
    { api: '', quirks: new Set(['shared']) },
    { api: '', quirks: new Set(['shared']) },
  ])
})

test('a credential that is taken away while a run holds its client fails the turn with what to do', async () => {
  const remote = smallEntry('acme', { token_source_required: true })
  opened = await openProviders(plugin, { entries: { acme: remote } })
  const undo = opened.providers.setCredential('acme', () => ({ secret: 's', headers: { 'x-account': '7' } }))
  const held = candidate(opened)
  expect(await askOnce(held)).toMatchObject({ kind: 'answered' })
  expect(opened.wire.calls[0]?.headers).toEqual({ 'x-account': '7' })
  await undo()
  expect(await askOnce(held)).toMatchObject({
    kind: 'failed',
    failure: { message: expect.stringMatching(/acme has no key for https:\/\/acme\.example\/v1 any more/) },
  })
})

test('a local server that is not running is named before anything is sent', async () => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  const local = smallEntry('acme', { base_url: `http://127.0.0.1:${port}/v1`, api_key_optional: true })
  opened = await openProviders(plugin, { entries: { acme: local } })
  expect(await askOnce(candidate(opened))).toMatchObject({
    kind: 'failed',
    failure: { message: expect.stringContaining(`acme cannot be reached at http://127.0.0.1:${port}/v1`) },
  })
  expect(opened.wire.calls).toEqual([])
})

test('of a refused key it is said whose it was and what to do, whatever the server says of it', async () => {
  const wire = createSmallWire({
    answer: () => ({
      kind: 'failed',
      failure: { category: 'auth', status: 401, message: 'acme.example answered 401' },
    }),
  })
  const session = smallEntry('session', { token_source_required: true })
  const local = smallEntry('local', { base_url: 'http://127.0.0.1:9/v1' })
  opened = await openProviders(plugin, {
    entries: { acme: smallEntry('acme'), session, local },
    variables: ANYONE,
    wires: [wire],
  })
  const { providers } = opened
  const words = async (model: string) => {
    const outcome = await askOnce(providers.resolve({ model }).candidates[0]!)
    return outcome.kind === 'failed' ? outcome.failure.message : ''
  }
  providers.setCredential('session', () => ({ secret: 's' }))
  const said401 = 'acme.example answered 401; provider '
  expect(await words('acme-1')).toBe(
    `${said401}acme: its key was refused; set another ACME_API_KEY, or PUT /v1/providers/acme/key`,
  )
  await providers.setKey('acme', 'given')
  expect(await words('acme-1')).toBe(`${said401}acme: its key was refused; PUT /v1/providers/acme/key`)
  expect(await words('local-1')).toBe(
    `${said401}local: it wants a key: set LOCAL_API_KEY, or PUT /v1/providers/local/key`,
  )
  expect(await words('session-1')).toBe(
    `${said401}session: its session was refused; import it again: POST /v1/providers/session/import-subscription`,
  )
})
