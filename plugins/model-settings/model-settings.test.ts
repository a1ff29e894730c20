import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DEFAULT_TENANT } from '#contracts/identity'
import type { Collection, CollectionDefinition, Records } from '#contracts/store/records'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { SettingsBench } from '#test/model-settings/settings-bench'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

let bench: SettingsBench
beforeEach(async () => {
  bench = await SettingsBench.make(plugin)
})
afterEach(() => bench.dispose())

const ACME = { name: 'acme', base_url: 'https://192.0.2.10/v1', protocol: 'openai_compat' }
const KEY = 'sk-acme-secret'
const OK = { status: 200, body: { ok: true, provider: 'acme' } }
const refused = (message: string | RegExp) => ({
  status: 400,
  body: { error: { code: 'invalid_request', message: expect.stringMatching(message) } },
})
const keysKept = () => readdir(join(bench.base, 'global/model-keys')).catch(() => [])

/** All that the store holds, as text. */
async function stored(records: Records): Promise<string> {
  const names = ['model-settings.providers', 'model-settings.lists']
  const rows = await Promise.all(
    names.map(name => records.collection({ name, namespace: 'run' }).scan({ tenantId: DEFAULT_TENANT })),
  )
  return JSON.stringify(rows)
}

test('without any settings the snapshot is the catalog', async () => {
  const { request } = await bench.open({ variables: { OPENAI_API_KEY: 'k' } })
  const { status, body, headers } = await request('GET', '')
  expect([status, headers['x-model-settings-store']]).toEqual([200, 'database'])
  const common = { protocol: 'openai', builtin: true }
  expect(body).toEqual({
    providers: [
      {
        ...common,
        name: 'codex-subscription',
        base_url: 'https://192.0.2.50',
        auth_kind: 'subscription',
        has_credential: false,
        model_count: 1,
        exposed_count: 1,
        models: [{ id: 'sol', context_window: 100, exposed: true }],
      },
      {
        ...common,
        name: 'ollama',
        base_url: 'http://localhost:11434/v1',
        auth_kind: 'none',
        has_credential: false,
        model_count: 0,
        exposed_count: 0,
      },
      {
        ...common,
        name: 'openai',
        base_url: 'https://192.0.2.40/v1',
        auth_kind: 'api_key',
        has_credential: true,
        model_count: 2,
        exposed_count: 2,
        models: [
          {
            id: 'big',
            display_name: 'Big',
            context_window: 1000,
            input_per_1m_tokens_usd: 2,
            output_per_1m_tokens_usd: 4,
            cost_source: 'catalog',
            exposed: true,
          },
          { id: 'small', context_window: 500, exposed: true },
        ],
      },
    ],
  })
})

describe('adding and changing', () => {
  test('a provider with a key is asked with it, and the key is nowhere but in its own file', async () => {
    const { save, row, credential, records, request } = await bench.open()
    expect(await save({ ...ACME, api_key: KEY })).toMatchObject(OK)
    expect(await row('acme')).toEqual({
      name: 'acme',
      base_url: 'https://192.0.2.10/v1',
      protocol: 'openai_compat',
      auth_kind: 'api_key',
      builtin: false,
      has_credential: true,
      key_ref: 'stored',
      model_count: 0,
      exposed_count: 0,
    })
    expect(await credential('acme')).toEqual({ secret: KEY })
    const [file = ''] = await keysKept()
    expect(await readFile(join(bench.base, 'global/model-keys', file), 'utf8')).toBe(KEY)
    const told = (await stored(records)) + bench.logged.join() + JSON.stringify((await request('GET', '')).body)
    expect(told).not.toContain(KEY)
  })

  test('it survives a restart', async () => {
    const before = await bench.open()
    await before.save({ ...ACME, api_key: KEY })
    await before.save({ name: 'other', base_url: 'http://localhost:9/v1', auth_kind: 'none', protocol: 'anthropic' })
    await before.act('openai', 'cost', { model: 'small', input: 1, output: 2 })
    await before.act('openai', 'expose', { exposed: false })
    const seen = (await before.request('GET', '')).body
    await before.close()
    const after = await bench.open({ records: before.records })
    expect((await after.request('GET', '')).body).toEqual(seen)
    expect(await after.credential('acme')).toEqual({ secret: KEY })
    expect(after.providers.find('other')).toMatchObject({ isConfigured: true, entry: { protocol: 'anthropic' } })
  })

  test('a changed address begins without the key, which is then gone', async () => {
    const { save, credential, row } = await bench.open()
    await save({ ...ACME, api_key: KEY })
    expect(await save({ ...ACME, base_url: 'https://192.0.2.20/v1' })).toMatchObject(OK)
    expect([await credential('acme'), await keysKept()]).toEqual([undefined, []])
    expect(await row('acme')).toMatchObject({ base_url: 'https://192.0.2.20/v1', has_credential: false })
    expect((await row('acme')).key_ref).toBeUndefined()
  })

  test('a changed address with a key in the same request gets that one', async () => {
    const { save, credential } = await bench.open()
    await save({ ...ACME, api_key: KEY })
    await save({ ...ACME, base_url: 'https://192.0.2.20/v1', api_key: 'sk-next' })
    expect([await credential('acme'), (await keysKept()).length]).toEqual([{ secret: 'sk-next' }, 1])
  })

  test('the same place in other words keeps the key, and so does “stored”', async () => {
    const { save, credential } = await bench.open()
    await save({ ...ACME, api_key: KEY })
    await save({ ...ACME, base_url: 'https://192.0.2.10:443/v1/', protocol: 'anthropic' })
    await save({ ...ACME, key_ref: 'stored' })
    expect(await credential('acme')).toEqual({ secret: KEY })
    expect(await save({ ...ACME, base_url: 'https://192.0.2.20/v1', key_ref: 'stored' })).toMatchObject(
      refused(/key_ref: .*send the key again/),
    )
    expect(await credential('acme')).toEqual({ secret: KEY })
  })

  test('what a change leaves out stays, but for the key of another address', async () => {
    const { save, row } = await bench.open()
    await save({ ...ACME, protocol: 'anthropic', auth_kind: 'none' })
    await save({ name: 'acme', base_url: 'https://192.0.2.20/v1' })
    expect(await row('acme')).toMatchObject({ protocol: 'anthropic', auth_kind: 'none' })
    await save({ name: 'acme', base_url: 'https://192.0.2.20/v1', api_key: KEY })
    expect(await row('acme')).toMatchObject({ auth_kind: 'api_key', has_credential: true })
    await save({ name: 'acme', base_url: 'https://192.0.2.20/v1', auth_kind: 'none' })
    expect([(await row('acme')).has_credential, await keysKept()]).toEqual([false, []])
  })

  test('a new key takes the place of the old one, whose file goes', async () => {
    const { save, credential } = await bench.open()
    await save({ ...ACME, api_key: KEY })
    const [first] = await keysKept()
    await save({ ...ACME, api_key: `${KEY}-2\n` })
    expect(await credential('acme')).toEqual({ secret: `${KEY}-2` })
    expect(await keysKept()).not.toContain(first)
    await save({ ...ACME, key_ref: 'file:not-there' })
    expect(await keysKept()).toHaveLength(1)
  })

  test('a reference is resolved when it is set and read when it is used', async () => {
    await mkdir(join(bench.base, 'global/secrets'), { recursive: true })
    await writeFile(join(bench.base, 'global/secrets/acme'), KEY)
    const { save, credential, row, records } = await bench.open({ variables: { ACME_API_KEY: 'from-env' } })
    await save({ ...ACME, key_ref: 'env:ACME_API_KEY' })
    expect([await credential('acme'), (await row('acme')).key_ref]).toEqual([
      { secret: 'from-env' },
      'env:ACME_API_KEY',
    ])
    await save({ ...ACME, key_ref: 'file:acme' })
    expect([await credential('acme'), (await row('acme')).key_ref]).toEqual([{ secret: KEY }, 'file:acme'])
    await writeFile(join(bench.base, 'global/secrets/acme'), '')
    await expect(credential('acme')).rejects.toThrow(/acme: there is no key where its settings say/)
    expect((await row('acme')).has_credential).toBe(false)
    await save({ ...ACME, key_ref: 'env:ACME_API_KEY' })
    const after = await bench.open({ records })
    expect([after.providers.find('acme')?.isConfigured, (await after.row('acme')).has_credential]).toEqual([
      false,
      false,
    ])
  })

  test('a built-in provider that is moved is not sent the key of its variable', async () => {
    const { save, credential, row } = await bench.open({ variables: { OPENAI_API_KEY: KEY } })
    expect(await credential('openai')).toEqual({ secret: KEY })
    await save({ name: 'openai', base_url: 'https://192.0.2.30/v1' })
    expect([await credential('openai'), (await row('openai')).has_credential]).toEqual([undefined, false])
    expect(await row('openai')).toMatchObject({ builtin: true, protocol: 'openai', model_count: 2 })
    await save({ name: 'openai', base_url: 'https://192.0.2.40/v1' })
    expect(await credential('openai')).toEqual({ secret: KEY })
    expect((await row('openai')).base_url).toBe('https://192.0.2.40/v1')
  })

  test('its variable may be named for its own address only, and another key for any', async () => {
    const { save, credential } = await bench.open({ variables: { OPENAI_API_KEY: KEY } })
    const theft = { name: 'evil', base_url: 'https://192.0.2.66', key_ref: 'env:OPENAI_API_KEY' }
    expect(await save(theft)).toMatchObject(refused(/belongs to https:\/\/192\.0\.2\.40/))
    expect(await save({ ...theft, name: 'openai' })).toMatchObject(refused(/belongs to/))
    await save({ name: 'openai', base_url: 'https://192.0.2.40/v1', api_key: 'sk-mine' })
    expect(await credential('openai')).toEqual({ secret: 'sk-mine' })
  })

  test('where a variable of the environment says the address, the catalog’s cannot be chosen', async () => {
    const variables = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: 'https://192.0.2.30/v1' }
    const { save } = await bench.open({ variables })
    expect(await save({ name: 'openai', base_url: 'https://192.0.2.40/v1' })).toMatchObject(
      refused(/base_url: the variable OPENAI_BASE_URL/),
    )
    expect((await save({ name: 'openai', base_url: 'https://192.0.2.30/v1' })).status).toBe(200)
  })

  test('a provider with a session cannot be moved or given a key', async () => {
    const { save } = await bench.open()
    const codex = { name: 'codex-subscription', base_url: 'https://192.0.2.50' }
    expect((await save(codex)).status).toBe(200)
    expect(await save({ ...codex, base_url: 'https://192.0.2.66' })).toMatchObject(
      refused(/^base_url: .*its vendor only/),
    )
    expect(await save({ ...codex, protocol: 'anthropic' })).toMatchObject(refused(/its vendor only/))
    expect(await save({ ...codex, auth_kind: 'none' })).toMatchObject(refused(/its vendor only/))
    expect(await save({ ...codex, api_key: 'k' })).toMatchObject(refused(/imported session and no key/))
    expect(await save({ ...ACME, auth_kind: 'subscription' })).toMatchObject(refused(/^auth_kind: /))
  })

  test.each([
    [{ base_url: 'https://192.0.2.60' }, 'name'],
    [{ name: 'acme' }, 'base_url'],
    [{ ...ACME, name: 'A B' }, 'name'],
    [{ ...ACME, name: '../x' }, 'name'],
    [{ ...ACME, name: '__proto__' }, 'name'],
    [{ ...ACME, name: 'default' }, 'name'],
    [{ ...ACME, name: 'fake' }, 'name'],
    [{ ...ACME, name: 'x'.repeat(65) }, 'name'],
    [{ ...ACME, base_url: 'http://169.254.169.254/' }, 'base_url'],
    [{ ...ACME, base_url: 'https://u:p@192.0.2.10' }, 'base_url'],
    [{ ...ACME, base_url: 5 }, 'base_url'],
    [{ ...ACME, protocol: 'smoke' }, 'protocol: must be one of anthropic, openai, openai_compat'],
    [{ ...ACME, auth_kind: 'magic' }, 'auth_kind'],
    [{ ...ACME, api_key: 'a\r\nb: c' }, 'api_key'],
    [{ ...ACME, api_key: '   ' }, 'api_key'],
    [{ ...ACME, api_key: KEY, key_ref: 'env:ACME_KEY' }, 'api_key: give either'],
    [{ ...ACME, api_key: KEY, auth_kind: 'none' }, 'auth_kind'],
    [{ ...ACME, key_ref: 'env:SVC_SOURCEGRAPH_TOKEN' }, 'key_ref'],
    [{ ...ACME, key_ref: 'file:/etc/passwd' }, 'key_ref'],
    [{ ...ACME, key_ref: 'keychain:runwright/x' }, 'key_ref: there is a keychain on macOS only'],
    [{ ...ACME, key_ref: 'stored' }, 'key_ref'],
  ])('%j is refused for its %s, and nothing is left of it', async (body, field) => {
    const { save, records } = await bench.open()
    const reply = await save(body)
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_request'])
    expect(reply.body.error.message).toContain(field)
    expect(JSON.stringify(reply.body)).not.toContain(KEY)
    expect([await stored(records), await keysKept()]).toEqual(['[[],[]]', []])
  })

  test('a key that cannot be kept changes nothing', async () => {
    await mkdir(join(bench.base, 'global'))
    await mkdir(join(bench.base, 'theirs'))
    await symlink(join(bench.base, 'theirs'), join(bench.base, 'global/model-keys'))
    const { save, records, providers } = await bench.open()
    expect(await save({ ...ACME, api_key: KEY })).toMatchObject({
      status: 503,
      body: { error: { code: 'store_unavailable' } },
    })
    expect([await stored(records), providers.find('acme')]).toEqual(['[[],[]]', undefined])
    expect([await readdir(join(bench.base, 'theirs')), bench.logged.join().includes(KEY)]).toEqual([[], false])
  })

  test('many changes at once all take effect', async () => {
    const memory = createMemoryRecords()
    // A store that takes its time to answer, so that all have read before anybody writes.
    const records: Records = {
      ...memory,
      collection<T>(definition: CollectionDefinition<T>) {
        const inner = memory.collection<T>(definition)
        const get: Collection<T>['get'] = async (tenantId, key) => {
          const found = await inner.get(tenantId, key)
          await new Promise(resolve => setImmediate(resolve))
          return found
        }
        return { ...inner, get }
      },
    }
    const { act, row, providers } = await bench.open({ records })
    const ids = Array.from({ length: 15 }, (_, index) => `m${index}`)
    providers.learn(
      'openai',
      ids.map(id => ({ id })),
    )
    const replies = await Promise.all(
      ids.map((model, index) => act('openai', 'cost', { model, input: index, output: 0 })),
    )
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    const { models } = await row('openai')
    const prices = ids.map(id => models.find((model: { id: string }) => model.id === id).input_per_1m_tokens_usd)
    expect(prices).toEqual(ids.map((_, index) => index))
    expect(await stored(memory)).toContain('"version":15')
  })

  test('there is a bound to how many may be added', async () => {
    const { save, records } = await bench.open()
    const settings = records.collection({ name: 'model-settings.providers', namespace: 'run' })
    for (let index = 0; index < 200; index += 1) await settings.put(DEFAULT_TENANT, `p${index}`, {})
    expect(await save({ ...ACME, api_key: KEY })).toMatchObject(refused(/200 providers already/))
    expect(await keysKept()).toEqual([])
  })
})

describe('removing', () => {
  test('takes the provider, its key and all that was set for it', async () => {
    const { save, request, providers, records } = await bench.open()
    await save({ ...ACME, api_key: KEY })
    expect(await request('DELETE', '/providers/acme')).toMatchObject({ status: 200, body: { ok: true } })
    expect([providers.find('acme'), await keysKept(), await stored(records)]).toEqual([undefined, [], '[[],[]]'])
    expect(await request('DELETE', '/providers/acme')).toMatchObject(refused(/no provider "acme" was added/))
  })

  test.each(['openai', 'fake'])('%s is built in and stays', async name => {
    const { request, save } = await bench.open()
    if (name === 'openai') await save({ name, base_url: 'https://192.0.2.30' })
    expect(await request('DELETE', `/providers/${name}`)).toMatchObject(refused(/built in and cannot be removed/))
  })

  test.each(['nope', '__proto__', 'x'.repeat(90)])('%s was never added', async name => {
    const { request } = await bench.open()
    expect(await request('DELETE', `/providers/${name}`)).toMatchObject(refused(/was added/))
  })
})

test('without a database the answers and the log say that settings end with the process', async () => {
  const { save, request, credential } = await bench.open({ isDurable: false })
  await save({ ...ACME, api_key: KEY })
  await save({ ...ACME, api_key: `${KEY}-2` })
  expect((await request('GET', '')).headers['x-model-settings-store']).toBe('memory')
  expect(bench.logged.filter(line => line.includes('set SVC_RUN_DB to keep them'))).toHaveLength(1)
  expect([await credential('acme'), await keysKept()]).toEqual([{ secret: `${KEY}-2` }, []])
})

test('closing the plugin takes everything back', async () => {
  const { save, providers, close } = await bench.open()
  await save(ACME)
  await close()
  expect([providers.find('acme'), providers.overlays]).toEqual([undefined, []])
})

test('without providers every route answers 501', async () => {
  const opened = await openPlugin(plugin, { ports: standInPorts({ ...plugin, optional: [] }) })
  const answers = await Promise.all(
    opened.routes.map(async ({ method, url }) => {
      const payload = url.endsWith('expose')
        ? { exposed: true }
        : url.endsWith('cost')
          ? { model: 'm', input: 1, output: 1 }
          : ACME
      const reply = await opened.app.inject({
        method: method as 'GET',
        url: url.replace(':name', 'acme'),
        ...(method === 'POST' && { payload }),
      })
      return [reply.statusCode, reply.json().error.code]
    }),
  )
  await opened.close()
  expect(answers).toEqual(Array.from({ length: 6 }, () => [501, 'not_implemented']))
})

test('an unknown action is not found', async () => {
  const { act } = await bench.open()
  expect((await act('openai', 'explode', {})).status).toBe(404)
})
