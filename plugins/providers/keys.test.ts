import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ModelWire } from '#contracts/model/provider'
import type { CollectionDefinition } from '#contracts/store/records'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import { memoryLog } from '#test/kit/memory-log'
import { askOnce, type OpenProviders, openProviders, smallEntry } from '#test/kit/open-providers'
import { said } from '#test/kit/small-wire'
import { type CarriedState, createCarriedState } from './carried.js'
import { plugin } from './index.js'
import { KeyRing } from './key-ring.js'

/** A server that notes the headers of every request. */
interface Listener {
  readonly url: string
  readonly heard: readonly IncomingHttpHeaders[]
  readonly server: Server
}

async function listen(): Promise<Listener> {
  const heard: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    heard.push(request.headers)
    response.end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, server }
}

/** A wire that really sends: one request per turn, with the secret in its header. */
const REAL_WIRE: ModelWire = {
  protocols: ['small'],
  open: ({ provider, baseUrl, credential }) => {
    const send = async (signal: AbortSignal) => {
      const secret = (await credential(signal))?.secret
      await fetch(baseUrl, { signal, ...(secret !== undefined && { headers: { authorization: `Bearer ${secret}` } }) })
    }
    return {
      provider,
      answer: async (_, __, signal) => {
        try {
          await send(signal)
          return said('ok')
        } catch (error) {
          return { kind: 'failed', failure: { category: 'auth', message: String(error) } }
        }
      },
      fetchModels: async signal => {
        await send(signal)
        return { kind: 'listed', body: { data: [{ id: 'm' }] } }
      },
      close: async () => undefined,
    }
  },
}

let old: Listener
let next: Listener
let opened: OpenProviders | undefined
beforeEach(async () => {
  old = await listen()
  next = await listen()
})
afterEach(async () => {
  await opened?.close()
  opened = undefined
  for (const { server } of [old, next]) {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
})

async function openAt(url: string, variables: Readonly<Record<string, string>> = {}) {
  const entry = smallEntry('acme', { base_url: url, base_url_env: 'ACME_BASE_URL' })
  opened = await openProviders(plugin, { entries: { acme: entry }, variables, wires: [REAL_WIRE] })
  return { ...opened, entry }
}

const ask = async ({ providers }: Pick<OpenProviders, 'providers'>) =>
  askOnce(providers.resolve({ model: 'acme-1' }).candidates[0]!)
const authorizations = ({ heard }: Listener) => heard.map(({ authorization }) => authorization)

test('a key goes to the address it was given for, and never to one that is laid over it', async () => {
  const live = await openAt(old.url, { ACME_API_KEY: 'from-variable' })
  await ask(live)
  await live.providers.setKey('acme', 'from-put')
  await ask(live)
  const held = live.providers.resolve({ model: 'acme-1' }).candidates[0]!
  const undo = live.providers.overlay({ providers: { acme: { ...live.entry, base_url: next.url } } })
  await ask(live)
  // A run that began before goes on at the old address, with the key that belongs there.
  await askOnce(held)
  await live.providers.fetchModels('acme', new AbortController().signal)
  expect(authorizations(next)).toEqual([undefined, undefined])
  expect(authorizations(old)).toEqual(['Bearer from-variable', 'Bearer from-put', 'Bearer from-put'])
  await undo()
  await ask(live)
  expect(authorizations(old).at(-1)).toBe('Bearer from-put')
})

test('a base URL is told without what follows its `?`, for that may be a secret', async () => {
  const remote = smallEntry('acme', { base_url: 'https://one.example/v1?token=hidden' })
  opened = await openProviders(plugin, { entries: { acme: remote } })
  const { providers } = opened
  await providers.setKey('acme', 'from-put')
  const held = providers.resolve({ model: 'acme-1' }).candidates[0]!
  providers.overlay({ providers: { acme: { ...remote, base_url: 'https://two.example/v1?token=hidden' } } })
  expect(opened.try({ model: 'acme-1' })).toBe(
    'model "acme-1": provider acme cannot be asked: its key was given for another base URL than https://two.example/v1; give it one for this: PUT /v1/providers/acme/key',
  )
  const undo = providers.overlay({
    providers: { acme: { ...remote, base_url: 'https://three.example/v1?token=hidden' } },
    credentials: { acme: () => ({ secret: 's' }) },
  })
  const third = providers.resolve({ model: 'acme-1' }).candidates[0]!
  await undo()
  expect(await askOnce(held)).toMatchObject({ kind: 'answered' })
  expect(await askOnce(third)).toMatchObject({
    failure: { message: 'provider acme has no key for https://three.example/v1 any more: give it one' },
  })
})

test('another path on the same server is another address', async () => {
  const live = await openAt(`${old.url}/one`, { ACME_API_KEY: 'from-variable' })
  await live.providers.setKey('acme', 'from-put')
  live.providers.overlay({ providers: { acme: { ...live.entry, base_url: `${old.url}/two` } } })
  await ask(live)
  expect(authorizations(old)).toEqual([undefined])
})

test('the variable’s key follows the variable’s address', async () => {
  const live = await openAt(old.url, { ACME_API_KEY: 'from-variable', ACME_BASE_URL: next.url })
  await ask(live)
  expect([authorizations(old), authorizations(next)]).toEqual([[], ['Bearer from-variable']])
})

test('an overlay brings its own credentials, for its own address only', async () => {
  const live = await openAt(old.url, { ACME_API_KEY: 'from-variable' })
  const undo = live.providers.overlay({
    providers: { acme: { ...live.entry, base_url: next.url } },
    credentials: { acme: () => ({ secret: 'of-overlay' }) },
  })
  await ask(live)
  // Over it another one: the first one's credential is not for this.
  const undoSecond = live.providers.overlay({ providers: { acme: { ...live.entry, base_url: `${next.url}/other` } } })
  await ask(live)
  await undoSecond()
  await ask(live)
  await undo()
  await ask(live)
  expect(authorizations(next)).toEqual(['Bearer of-overlay', undefined, 'Bearer of-overlay'])
  expect(authorizations(old)).toEqual(['Bearer from-variable'])
})

test('a credential laid over a provider that stays where it is serves that address', async () => {
  const live = await openAt(old.url)
  live.providers.overlay({ credentials: { acme: () => ({ secret: 'of-overlay' }) } })
  await ask(live)
  const undo = live.providers.overlay({ providers: { acme: { ...live.entry, base_url: next.url } } })
  await ask(live)
  await undo()
  await ask(live)
  expect([authorizations(old), authorizations(next)]).toEqual([['Bearer of-overlay', 'Bearer of-overlay'], [undefined]])
})

test('a session goes where catalog and variable say, and nowhere else', async () => {
  const entry = smallEntry('acme', { base_url: old.url, token_source_required: true })
  opened = await openProviders(plugin, { entries: { acme: entry }, wires: [REAL_WIRE] })
  expect(opened.try({ model: 'acme-1' })).toMatch(/import its session/)
  const undo = opened.providers.setCredential('acme', () => ({ secret: 'session' }))
  await ask(opened)
  opened.providers.overlay({ providers: { acme: { ...entry, base_url: next.url } } })
  expect(opened.try({ model: 'acme-1' })).toMatch(/import its session/)
  expect(authorizations(old)).toEqual(['Bearer session'])
  await undo()
  expect(next.heard).toEqual([])
})

test('away from this machine a provider without the key of its address cannot be asked', async () => {
  const entry = smallEntry('acme')
  opened = await openProviders(plugin, { entries: { acme: entry }, variables: { ACME_API_KEY: 'k' } })
  await opened.providers.setKey('acme', 'given')
  const undo = opened.providers.overlay({ providers: { acme: { ...entry, base_url: 'https://elsewhere.example' } } })
  expect(opened.try({ model: 'acme-1' })).toBe(
    'model "acme-1": provider acme cannot be asked: its key was given for another base URL than https://elsewhere.example; ' +
      'give it one for this: PUT /v1/providers/acme/key',
  )
  await opened.providers.setKey('acme', 'for-elsewhere')
  expect(opened.try({ model: 'acme-1' })).toEqual(['acme acme-1'])
  await undo()
  // The given key is for elsewhere now; the variable's is still the vendor's.
  await askOnce(opened.providers.resolve({ model: 'acme-1' }).candidates[0]!)
  expect(opened.wire.calls.map(({ baseUrl, secret }) => [baseUrl, secret])).toEqual([['https://acme.example/v1', 'k']])
})

const SECRET = 'correct horse battery staple'

async function openWith(
  records: ReturnType<typeof createMemoryRecords>,
  keySecret: string,
  logged: Record<string, unknown>[] = [],
) {
  opened = await openProviders(plugin, {
    entries: { acme: smallEntry('acme') },
    config: { key_secret: keySecret },
    records,
    log: memoryLog(logged),
  })
  return opened
}

test('with a secret, keys come back after a restart; what is stored shows nothing of them', async () => {
  const records = createMemoryRecords()
  const first = await openWith(records, SECRET)
  await first.providers.setKey('acme', 'sk-very-secret')
  await first.close()
  const stored = await records.collection({ name: 'providers.keys', namespace: 'state' }).scan({})
  expect(stored.map(({ key }) => key)).toEqual(['key:acme', 'salt'])
  const text = JSON.stringify(stored)
  for (const form of ['sk-very-secret', Buffer.from('sk-very-secret').toString('base64'), SECRET])
    expect(text).not.toContain(form)
  const second = await openWith(records, SECRET)
  await askOnce(second.providers.resolve({ model: 'acme-1' }).candidates[0]!)
  expect(second.wire.calls[0]?.secret).toBe('sk-very-secret')
})

test('without a secret nothing is stored', async () => {
  const records = createMemoryRecords()
  const live = await openWith(records, '')
  await live.providers.setKey('acme', 'sk-1')
  expect(await records.collection({ name: 'providers.keys', namespace: 'state' }).scan({})).toEqual([])
})

test('another secret opens nothing, says so without a key, and takes new ones', async () => {
  const records = createMemoryRecords()
  const logged: Record<string, unknown>[] = []
  await (await openWith(records, SECRET)).providers.setKey('acme', 'sk-very-secret')
  await opened?.close()
  const live = await openWith(records, 'another secret', logged)
  expect(live.try({ model: 'acme-1' })).toMatch(
    /acme cannot be asked: its stored key cannot be read with SVC_PROVIDER_KEYS_SECRET as it is now; put the old secret back, or set ACME_API_KEY, or PUT/,
  )
  expect(logged.filter(({ level }) => level === 'error')).toEqual([
    {
      level: 'error',
      plugin: 'providers',
      providers: ['acme'],
      message: expect.stringMatching(/another secret than SVC_PROVIDER_KEYS_SECRET/),
    },
  ])
  expect(JSON.stringify(logged)).not.toContain('sk-very-secret')
  await live.providers.setKey('acme', 'sk-new')
  expect(live.try({ model: 'acme-1' })).toEqual(['acme acme-1'])
})

test('a secret that changes while the daemon runs costs no key: what is in memory is stored under the new one', async () => {
  const records = createMemoryRecords()
  const state = createCarriedState()
  const ring = async (secret: string, of: CarriedState) => {
    const logged: Record<string, unknown>[] = []
    const keys = new KeyRing({ state: of, records, secret, log: memoryLog(logged) })
    await keys.load()
    return { keys, words: logged.filter(({ level }) => level === 'error').map(({ message }) => message) }
  }
  await (await ring('', state)).keys.set('early', 'sk-early', 'https://early.example')
  await (await ring('first', state)).keys.set('acme', 'sk-acme', 'https://acme.example')
  expect((await ring('second', state)).words).toEqual([])

  const restarted = createCarriedState()
  expect((await ring('second', restarted)).words).toEqual([])
  expect(restarted.keys).toEqual(
    new Map([
      ['acme', { secret: 'sk-acme', address: 'https://acme.example' }],
      ['early', { secret: 'sk-early', address: 'https://early.example' }],
    ]),
  )
  const old = createCarriedState()
  expect((await ring('first', old)).words).toEqual([expect.stringContaining('another secret')])
  expect([old.keys.size, [...old.locked]]).toEqual([0, ['acme', 'early']])
})

test('a key given while there was no secret takes the place of the stored one when the secret is back', async () => {
  const records = createMemoryRecords()
  const ring = async (secret: string, state: CarriedState) => {
    const keys = new KeyRing({ state, records, secret, log: memoryLog([]) })
    await keys.load()
    return keys
  }
  const state = createCarriedState()
  await (await ring('first', state)).set('acme', 'sk-leaked', 'https://acme.example')
  await (await ring('', state)).set('acme', 'sk-new', 'https://acme.example')
  await ring('first', state)

  const restarted = createCarriedState()
  await ring('first', restarted)
  expect(restarted.keys.get('acme')?.secret).toBe('sk-new')
})

test('a stored key that was changed, or moved to another provider or address, opens for nobody', async () => {
  const records = createMemoryRecords()
  await (await openWith(records, SECRET)).providers.setKey('acme', 'sk-very-secret')
  await opened?.close()
  const rows = records.collection<{ address: string; sealed: { text: string } }>({
    name: 'providers.keys',
    namespace: 'state',
  })
  const { value } = (await rows.get('default', 'key:acme'))!
  const moved = { ...value, address: 'https://elsewhere.example' }
  const changed = { ...value, sealed: { ...value.sealed, text: Buffer.from('x'.repeat(14)).toString('base64') } }
  for (const broken of [moved, changed, { address: value.address, sealed: {} }]) {
    await rows.put('default', 'key:acme', broken as never)
    const live = await openWith(records, SECRET)
    expect(live.try({ model: 'acme-1' })).toMatch(/acme cannot be asked/)
    await live.close()
  }
  await rows.put('default', 'key:bolt', value)
  await openWith(records, SECRET)
  expect(opened?.try({ model: 'acme-1' })).toMatch(/acme cannot be asked/)
})

test('a store that cannot be written keeps the old key in force', async () => {
  const records = createMemoryRecords()
  const live = await openWith(
    {
      ...records,
      collection: <T>(definition: CollectionDefinition<T>) => ({
        ...records.collection(definition),
        put: async () => {
          throw new Error('disk full')
        },
      }),
    },
    SECRET,
  )
  await expect(live.providers.setKey('acme', 'sk-1')).rejects.toThrow('disk full')
  expect(live.try({ model: 'acme-1' })).toMatch(/acme cannot be asked/)
})

test.each(['', '   ', 'two words', 'line\nbreak', 'caf\u00e9', 'x'.repeat(9000)])('%j is no key', async key => {
  const live = await openWith(createMemoryRecords(), '')
  await expect(live.providers.setKey('acme', key)).rejects.toThrow(/^key: it must/)
})
