import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClient, type Reply } from '#test/kit/boot'
import { ECHO_WIRE, startUpstream, type Upstream } from '#test/kit/echo-wire'
import { makeKey } from '#test/kit/keys'
import { startModelServer } from '#test/kit/model-server'
import { bootOnCopy, type ReloadBench, type ReloadBenchOptions } from '#test/kit/reload-bench'

const KEY = 'sk-acme-very-secret'

let acme: Upstream
let bolt: Upstream
const live: ReloadBench[] = []
beforeEach(async () => {
  acme = await startUpstream('acme')
  bolt = await startUpstream('bolt')
})
afterEach(async () => {
  for (const bench of live.splice(0)) await bench.stop()
  for (const { server } of [acme, bolt]) {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
})

async function boot(options: Partial<ReloadBenchOptions> = {}): Promise<ReloadBench> {
  const bench = await bootOnCopy({
    plugins: { 'echo-wire': ECHO_WIRE },
    settings: { provider: '' },
    isDurable: true,
    ...options,
  })
  live.push(bench)
  return bench
}

const ACTION = '/v1/model-settings/providers'
const last = async (bench: ReloadBench, request: object) => (await bench.run({ prompt: 'hi', ...request })).at(-1)
const rowOf = async ({ request }: Pick<ReloadBench, 'request'>, name: string) =>
  (await request('GET', '/v1/model-settings')).body.providers.find((row: { name: string }) => row.name === name)
const keysSeenBy = ({ heard }: Upstream) => heard.map(({ headers }) => headers.authorization)

test('a provider is added, fetched, priced and asked; a restart keeps it, a move takes its key', async () => {
  acme.models = [{ id: 'acme-1', context_length: 4096, pricing: { prompt: '0.000001', completion: '0.000002' } }]
  const first = await boot({ environment: { SVC_LIVE_MODELS: 'false' } })
  const draft = { name: 'acme', base_url: acme.url, protocol: 'echo', api_key: KEY }
  expect(await first.request('POST', ACTION, draft)).toMatchObject({
    status: 200,
    body: { ok: true, provider: 'acme' },
  })
  expect(await first.request('POST', `${ACTION}/acme/fetch`)).toMatchObject({ body: { ok: true, model_count: 1 } })
  expect(await rowOf(first, 'acme')).toMatchObject({
    builtin: false,
    has_credential: true,
    key_ref: 'stored',
    models: [
      { id: 'acme-1', context_window: 4096, input_per_1m_tokens_usd: 1, cost_source: 'provider', exposed: true },
    ],
  })
  await first.request('POST', `${ACTION}/acme/cost`, { model: 'acme-1', input: 5, output: 7 })
  const priced = {
    payload: { output: 'from acme', cost_totals: { cost_usd_total: 5.000007, cost_status: 'available' } },
  }
  expect(await last(first, { model: 'acme-1' })).toMatchObject(priced)

  const { dir } = first
  await first.daemon.stop()
  const second = await boot({ dir, environment: { SVC_LIVE_MODELS: 'false' } })
  expect(await last(second, { model: 'acme-1' })).toMatchObject(priced)
  expect(new Set(keysSeenBy(acme))).toEqual(new Set([`Bearer ${KEY}`]))

  await second.request('POST', ACTION, { name: 'acme', base_url: bolt.url })
  bolt.models = [{ id: 'acme-1' }]
  await second.request('POST', `${ACTION}/acme/fetch`)
  expect(await last(second, { model: 'acme-1' })).toMatchObject({ payload: { output: 'from bolt' } })
  expect(new Set(keysSeenBy(bolt))).toEqual(new Set([undefined]))

  expect((await second.request('DELETE', `${ACTION}/acme`)).status).toBe(200)
  expect(await last(second, { model: 'acme-1' })).toMatchObject({ type: 'run.failed' })
  const shown = await Promise.all(
    ['/v1/model-settings', '/v1/models', '/v1/providers', '/v1/plugins'].map(path => second.request('GET', path)),
  )
  const files = await Promise.all(
    (await readdir(dir)).filter(name => name.startsWith('runs.db')).map(name => readFile(join(dir, name))),
  )
  const everything = [
    JSON.stringify([shown.map(({ body }) => body), first.logged, second.logged]),
    ...files.map(String),
  ]
  expect(everything.filter(text => text.includes(KEY))).toEqual([])
  expect(await readdir(join(dir, '.runwright/model-keys'))).toEqual([])
}, 60_000)

test('what is set while a run works takes effect for the next one, also after a reload of the plugin', async () => {
  const bench = await boot()
  await bench.request('POST', ACTION, { name: 'acme', base_url: acme.url, protocol: 'echo', api_key: KEY })
  await bench.edit('model-settings', 'index.js', 'definePlugin({', 'definePlugin({ /* touched */')
  await bench.daemon.sync()
  expect(await last(bench, { model: 'any', provider_name: 'acme' })).toMatchObject({ payload: { output: 'from acme' } })
  await bench.edit('catalog', 'index.js', 'definePlugin({', 'definePlugin({ /* touched */')
  await bench.daemon.sync()
  expect(await rowOf(bench, 'acme')).toMatchObject({ has_credential: true })
  expect(await last(bench, { model: 'any', provider_name: 'acme' })).toMatchObject({ payload: { output: 'from acme' } })
  await bench.remove('model-settings')
  await bench.daemon.sync()
  expect((await bench.request('GET', '/v1/model-settings')).status).toBe(404)
  expect(
    (await bench.request('GET', '/v1/providers')).body.providers.map(({ name }: { name: string }) => name),
  ).not.toContain('acme')
}, 30_000)

test('what a request began before a reload changes is known to the generation after it', async () => {
  let release = (): void => undefined
  const slow = await startModelServer(async (_, response) => {
    await new Promise<void>(resolve => {
      release = resolve
    })
    response.end(JSON.stringify({ data: [{ id: 'late-1' }] }))
  })
  const bench = await boot({ environment: { SVC_LIVE_MODELS: 'false' } })
  await bench.request('POST', ACTION, { name: 'slow', base_url: slow.origin, protocol: 'echo' })
  const fetching = bench.request('POST', `${ACTION}/slow/fetch`)
  await slow.call(0)
  await bench.edit('model-settings', 'index.js', 'definePlugin({', 'definePlugin({ /* touched */')
  await bench.daemon.sync()
  expect((await rowOf(bench, 'slow')).fetched_at).toBeUndefined()
  release()
  expect((await fetching).body).toEqual({ ok: true, model_count: 1 })
  await expect.poll(async () => (await rowOf(bench, 'slow')).fetched_at).toBeDefined()
  expect(await rowOf(bench, 'slow')).toMatchObject({ model_count: 1 })
  await slow.close()
}, 20_000)

test('a built-in provider that is moved is never sent the key of its variable', async () => {
  const bench = await boot({
    environment: { BOLT_API_KEY: KEY, SVC_LIVE_MODELS: 'false' },
    config: `
[plugins.catalog.providers.bolt]
base_url = "${bolt.url}"
api_key_env = "BOLT_API_KEY"
protocol = "echo"
models.bolt-1.context_window = 1000
`,
  })
  expect(await last(bench, { model: 'bolt-1' })).toMatchObject({ payload: { output: 'from bolt' } })
  await bench.request('POST', ACTION, { name: 'bolt', base_url: acme.url })
  expect(await last(bench, { model: 'bolt-1' })).toMatchObject({ payload: { output: 'from acme' } })
  expect(await bench.request('DELETE', `${ACTION}/bolt`)).toMatchObject({ status: 400 })
  await bench.request('POST', ACTION, { name: 'bolt', base_url: bolt.url })
  expect(await last(bench, { model: 'bolt-1' })).toMatchObject({ payload: { output: 'from bolt' } })
  expect([keysSeenBy(bolt), keysSeenBy(acme)]).toEqual([[`Bearer ${KEY}`, `Bearer ${KEY}`], [undefined]])
})

test('lists show what is exposed', async () => {
  const bench = await boot()
  const ids = async () => (await bench.request('GET', '/v1/models')).body.models.map(({ id }: { id: string }) => id)
  const all = await ids()
  await bench.request('POST', `${ACTION}/openai/expose`, { exposed: false })
  const others = await ids()
  expect([all.includes('gpt-4.1'), others.includes('gpt-4.1'), others.length]).toEqual([true, false, all.length - 8])
  await bench.request('POST', `${ACTION}/openai/expose`, { exposed: { 'gpt-4.1': true } })
  expect(await ids()).toEqual(['gpt-4.1'])
})

test('a list that cannot be had is 502 with the provider’s reason', async () => {
  const bench = await boot()
  await bench.request('POST', ACTION, { name: 'acme', base_url: acme.url, protocol: 'echo' })
  acme.models = []
  const empty = await bench.request('POST', `${ACTION}/acme/fetch`)
  expect([empty.status, empty.body.error.code]).toEqual([502, 'fetch_failed'])
  expect(empty.body.error.message).toContain('lists no models')
  await bench.request('POST', ACTION, { name: 'cord', base_url: 'https://192.0.2.9/v1', protocol: 'echo' })
  const keyless = await bench.request('POST', `${ACTION}/cord/fetch`)
  expect([keyless.status, keyless.body.error.message]).toEqual([502, expect.stringMatching(/provider cord .*key/)])
  expect((await rowOf(bench, 'acme')).fetch_error).toContain('lists no models')
})

test('settings are an admin’s to change and everybody’s to read; every tenant sees the same deployment', async () => {
  const bench = await boot({ hasAuth: true })
  const database = join(bench.dir, 'runs.db')
  const as = async (tenant: string, scope: string) =>
    createClient(bench.url, (await makeKey(database, tenant, scope)).token).request
  const [reader, writer, admin, stranger] = [
    await as('one', 'runs:read'),
    await as('one', 'runs:write'),
    await as('one', 'admin'),
    await as('two', 'admin'),
  ]
  const draft = { name: 'acme', base_url: acme.url, protocol: 'echo', api_key: KEY }
  const changes: readonly (readonly [string, string, object?])[] = [
    ['POST', ACTION, draft],
    ['DELETE', `${ACTION}/acme`],
    ['POST', `${ACTION}/acme/fetch`],
    ['POST', `${ACTION}/acme/expose`, { exposed: true }],
    ['POST', `${ACTION}/acme/cost`, { model: 'm', input: 1, output: 1 }],
  ]
  const forbidden = { status: 403, body: { error: 'insufficient_scope', required: 'admin' } }
  for (const [method, path, body] of changes) {
    for (const request of [reader, writer]) expect(await request(method, path, body), path).toMatchObject(forbidden)
    expect((await bench.request(method, path, body)).status, path).toBe(401)
  }
  expect((await admin('POST', ACTION, draft)).status).toBe(200)
  const answers: readonly Reply[] = [
    await reader('GET', '/v1/model-settings'),
    await stranger('GET', '/v1/model-settings'),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers[0]?.body).toEqual(answers[1]?.body)
  expect((await stranger('DELETE', `${ACTION}/acme`)).status).toBe(200)
}, 30_000)

test('without a run database settings work and say that they end with the process', async () => {
  const bench = await boot({ isDurable: false })
  await bench.request('POST', ACTION, { name: 'acme', base_url: acme.url, protocol: 'echo', api_key: KEY })
  expect(await last(bench, { model: 'm', provider_name: 'acme' })).toMatchObject({ payload: { output: 'from acme' } })
  const reply = await bench.request('GET', '/v1/model-settings')
  expect(reply.headers.get('x-model-settings-store')).toBe('memory')
  expect(bench.logged.filter(({ message }) => String(message).includes('SVC_RUN_DB'))).toHaveLength(1)
  expect(keysSeenBy(acme)).toContain(`Bearer ${KEY}`)
})

test('without plugins/providers there is nothing to set', async () => {
  const bench = await boot({ without: ['providers'] })
  const reply = await bench.request('GET', '/v1/model-settings')
  expect([reply.status, reply.body.error.code]).toEqual([501, 'not_implemented'])
})

test('a provider that was added here may be the default of the deployment; one that is gone refuses the start', async () => {
  acme.models = [{ id: 'acme-1' }]
  const first = await boot({ environment: { SVC_LIVE_MODELS: 'false' } })
  await first.request('POST', ACTION, { name: 'acme', base_url: acme.url, protocol: 'echo', api_key: KEY })
  await first.request('POST', `${ACTION}/acme/fetch`)
  const { dir } = first
  await first.daemon.stop()

  const settings = { provider: 'acme', model: 'acme-1' }
  const second = await boot({ dir, settings, environment: { SVC_LIVE_MODELS: 'false' } })
  expect(await last(second, {})).toMatchObject({ payload: { output: 'from acme' } })
  // A reload of others is no start: what was taken away is told to runs.
  await second.request('DELETE', `${ACTION}/acme`)
  await second.edit('todos', 'index.js', 'definePlugin({', 'definePlugin({ /* touched */')
  await second.daemon.sync()
  expect(await last(second, {})).toMatchObject({
    payload: { error: expect.stringMatching(/SVC_PROVIDER: there is no/) },
  })
  await second.daemon.stop()

  await expect(boot({ dir, settings })).rejects.toThrow(/plugin providers: SVC_PROVIDER: there is no provider "acme"/)
}, 60_000)

test('the name of the fake provider is not to be had', async () => {
  const bench = await boot()
  expect(await bench.request('POST', ACTION, { name: 'fake', base_url: acme.url })).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request', message: expect.stringContaining('name: this name is taken') } },
  })
})
