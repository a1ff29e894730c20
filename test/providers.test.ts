import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createClient } from '#test/kit/boot'
import { ECHO_WIRE, startUpstream, type Upstream } from '#test/kit/echo-wire'
import { makeKey } from '#test/kit/keys'
import { bootOnCopy, type ReloadBench, type ReloadBenchOptions } from '#test/kit/reload-bench'

let acme: Upstream
let bolt: Upstream
let live: ReloadBench | undefined
afterEach(async () => {
  await live?.stop()
  live = undefined
  for (const { server } of [acme, bolt]) {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
})

const config = () => `
model = "acme-1"
[plugins.catalog.providers.acme]
base_url = "${acme.url}"
api_key_env = "ACME_API_KEY"
protocol = "echo"
[plugins.catalog.providers.acme.models.acme-1]
context_window = 1000
modalities = ["text"]
pricing = { input_per_1m_tokens_usd = 3, output_per_1m_tokens_usd = 4 }
[plugins.catalog.providers.acme.aliases]
ace = "acme-1"
[plugins.catalog.providers.bolt]
base_url = "${bolt.url}"
api_key_env = "BOLT_API_KEY"
protocol = "echo"
models.bolt-1.context_window = 2000
[plugins.catalog.providers.cord]
base_url = "https://cord.example/v1"
api_key_env = "CORD_API_KEY"
protocol = "echo"
models.cord-1.context_window = 3000
`

/** Nobody answers but the providers of the test. */
const BENCH: Partial<ReloadBenchOptions> = { plugins: { 'echo-wire': ECHO_WIRE }, settings: { provider: '' } }

async function boot(options: Partial<ReloadBenchOptions> = {}): Promise<ReloadBench> {
  acme = await startUpstream('acme')
  bolt = await startUpstream('bolt')
  live = await bootOnCopy({ ...BENCH, config: config(), ...options })
  return live
}

const last = async (bench: ReloadBench, request: object) => (await bench.run({ prompt: 'hi', ...request })).at(-1)

test('models and providers are listed as the contract has them', async () => {
  const { request } = await boot({ environment: { CORD_API_KEY: 'k' } })
  const { body, status } = await request('GET', '/v1/models')
  const rows: { provider: string; id: string }[] = body.models
  expect(status).toBe(200)
  expect(rows).toContainEqual({
    id: 'acme-1',
    provider: 'acme',
    aliases: ['ace'],
    input_cost_per_mtok: 3,
    output_cost_per_mtok: 4,
    modalities: ['text'],
    context_window: 1000,
  })
  expect(rows).toContainEqual({ id: 'bolt-1', provider: 'bolt', aliases: [], context_window: 2000 })
  const names = rows.map(({ provider, id }) => `${provider} ${id}`)
  expect(names).toEqual(names.toSorted())
  const providers: { name: string }[] = (await request('GET', '/v1/providers')).body.providers
  expect(providers.map(({ name }) => name)).toEqual(providers.map(({ name }) => name).toSorted())
  const own = ['acme', 'anthropic', 'codex-subscription', 'cord']
  expect(providers.filter(({ name }) => own.includes(name))).toEqual([
    {
      name: 'acme',
      configured: true,
      api_key_env: 'ACME_API_KEY',
      auth_type: 'api_key',
      base_url: acme.url,
      model_count: 1,
      health: 'unverified',
    },
    expect.objectContaining({
      name: 'anthropic',
      configured: false,
      api_key_env: 'ANTHROPIC_API_KEY',
      base_url: 'https://api.anthropic.com/v1',
      health: 'unconfigured',
      model_count: 8,
    }),
    expect.objectContaining({
      name: 'codex-subscription',
      configured: false,
      api_key_env: '',
      auth_type: 'subscription',
    }),
    {
      name: 'cord',
      configured: true,
      api_key_env: 'CORD_API_KEY',
      auth_type: 'api_key',
      base_url: 'https://cord.example/v1',
      model_count: 1,
      health: 'unverified',
    },
  ])
})

test('a key is taken for any name and shown nowhere', async () => {
  const bench = await boot({ environment: { ACME_API_KEY: 'sk-of-variable' } })
  expect(await bench.request('PUT', '/v1/providers/acme/key', { key: 'sk-of-put' })).toMatchObject({
    status: 204,
    body: '',
  })
  expect((await bench.request('PUT', '/v1/providers/who-ever/key', { key: 'k' })).status).toBe(204)
  expect((await bench.request('PUT', '/v1/providers/__proto__/key', { key: 'k' })).status).toBe(204)
  expect(await last(bench, { model: 'ace' })).toMatchObject({ payload: { output: 'from acme' } })
  expect(acme.heard.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-of-put'])
  const shown = await Promise.all(
    ['/v1/providers', '/v1/models', '/v1/plugins', '/v1/runs'].map(path => bench.request('GET', path)),
  )
  const everything = JSON.stringify([shown.map(({ body }) => body), bench.logged])
  for (const secret of ['sk-of-put', 'sk-of-variable']) expect(everything).not.toContain(secret)
})

test('what is no key is refused, and so is every other way to ask', async () => {
  const { request } = await boot()
  const bodies: [unknown, string][] = [
    [{}, 'invalid_request'],
    [{ key: '' }, 'invalid_request'],
    [{ key: '  ' }, 'invalid_request'],
    [{ key: 5 }, 'invalid_request'],
    [{ key: 'a\nb' }, 'invalid_request'],
    ['{"key": ', 'invalid_json'],
  ]
  for (const [body, code] of bodies)
    expect(await request('PUT', '/v1/providers/acme/key', body)).toMatchObject({
      status: 400,
      body: { error: { code } },
    })
  const shapes: [string, string, number][] = [
    ['GET', '/v1/providers/acme/key', 405],
    ['POST', '/v1/providers/acme/key', 405],
    ['POST', '/v1/models', 405],
    ['DELETE', '/v1/providers', 405],
    ['GET', '/v1/providers/acme', 404],
    ['PUT', '/v1/providers/acme', 404],
    ['PUT', '/v1/providers/acme/key/more', 404],
    // No path of this daemon has an empty part.
    ['PUT', '/v1/providers//key', 400],
    ['GET', '/v1/providers?check=maybe', 400],
  ]
  const answers = shapes.map(async ([method, path]) => {
    const { status } = await request(method, path, method === 'GET' ? undefined : { key: 'k' })
    return [method, path, status]
  })
  expect(await Promise.all(answers)).toEqual(shapes)
})

test('keys are an admin’s to give, lists anybody’s to read; every tenant sees the same deployment', async () => {
  const bench = await boot({ isDurable: true, hasAuth: true })
  const database = join(bench.dir, 'runs.db')
  const as = async (tenant: string, scope: string) =>
    createClient(bench.url, (await makeKey(database, tenant, scope)).token).request
  const [reader, writer, admin, other] = [
    await as('one', 'runs:read'),
    await as('one', 'runs:write'),
    await as('one', 'admin'),
    await as('two', 'runs:read'),
  ]
  for (const request of [reader, writer])
    expect(await request('PUT', '/v1/providers/cord/key', { key: 'k' })).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope', required: 'admin' },
    })
  expect((await bench.request('PUT', '/v1/providers/cord/key', { key: 'k' })).status).toBe(401)
  for (const path of ['/v1/models', '/v1/providers']) {
    expect((await bench.request('GET', path)).status).toBe(401)
    const [mine, theirs] = [await reader('GET', path), await other('GET', path)]
    expect([mine.status, mine.body]).toEqual([200, theirs.body])
  }
  expect((await admin('PUT', '/v1/providers/cord/key', { key: 'k' })).status).toBe(204)
  const { providers } = (await other('GET', '/v1/providers')).body
  expect(providers.find(({ name }: { name: string }) => name === 'cord').configured).toBe(true)
}, 20_000)

test('without a catalog there is nothing to list, and keys are still taken', async () => {
  const bench = await boot({ without: ['catalog'], config: '' })
  expect(await bench.request('GET', '/v1/models')).toMatchObject({ status: 200, body: { models: [] } })
  expect(await bench.request('GET', '/v1/providers')).toMatchObject({ status: 200, body: { providers: [] } })
  expect((await bench.request('PUT', '/v1/providers/openai/key', { key: 'k' })).status).toBe(204)
})

test('a run is priced by its model, and a model without a price says so', async () => {
  const bench = await boot()
  expect(await last(bench, {})).toMatchObject({
    type: 'run.completed',
    payload: {
      cost_totals: { cost_usd_total: 3.000004, cost_status: 'available', pricing_version: expect.any(String) },
    },
  })
  expect(await last(bench, { model: 'bolt-1' })).toMatchObject({
    payload: { output: 'from bolt', cost_totals: { cost_usd_total: 0, cost_status: 'unpriced_model' } },
  })
})

test('a refused key shows in the health of its provider; a check asks those that are configured', async () => {
  const bench = await boot()
  acme.status = 401
  expect(await last(bench, {})).toMatchObject({ type: 'run.failed' })
  const healthOf = async (path: string) => {
    const { providers } = (await bench.request('GET', path)).body
    return providers
      .filter(({ name }: { name: string }) => name === 'acme' || name === 'bolt')
      .map((row: { health: string; health_error?: string }) => [row.health, row.health_error])
  }
  expect(await healthOf('/v1/providers')).toEqual([
    ['failed', expect.stringMatching(/^acme says 401; provider acme: .*PUT \/v1\/providers\/acme\/key$/)],
    ['unverified', undefined],
  ])
  expect(await healthOf('/v1/providers?check=true')).toEqual([
    ['failed', expect.stringMatching(/^acme says 401; provider acme: .*PUT \/v1\/providers\/acme\/key$/)],
    ['ok', undefined],
  ])
})

test('a run that may goes on with the next provider; the first choice and the reason are told', async () => {
  const bench = await boot({ settings: { provider: '', retry_max_attempts: 1 } })
  acme.status = 503
  const events = await bench.run({ prompt: 'hi', allow_fallback: true, fallback_providers: ['bolt', 'cord'] })
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'from bolt' } })
  const chosen = events.filter(({ type }) => type === 'provider.resolved').map(({ payload }) => payload?.provider)
  expect(chosen).toEqual(['acme', 'bolt'])
  const instead = await bench.run({ prompt: 'hi', model: 'cord-1', allow_fallback: true, fallback_providers: ['bolt'] })
  const warning = instead.find(({ type }) => type === 'prompt.warning')
  expect(warning?.payload).toMatchObject({
    code: 'provider_fallback',
    from_provider: 'cord',
    to_provider: 'default',
    reason: expect.stringContaining('CORD_API_KEY'),
  })
  expect(await last(bench, { model: 'cord-1' })).toMatchObject({
    type: 'run.failed',
    payload: { error: expect.stringMatching(/provider cord cannot be asked: set CORD_API_KEY/) },
  })
})

test('keys and what was learned outlive a reload of the plugin, and of the catalog', async () => {
  const bench = await boot()
  await bench.request('PUT', '/v1/providers/cord/key', { key: 'k' })
  await bench.edit('providers', 'index.js', 'definePlugin({', 'definePlugin({ /* touched */')
  await bench.daemon.sync()
  await bench.edit('catalog', 'content/providers/xai.json', '"xAI"', '"X"')
  await bench.daemon.sync()
  const { providers } = (await bench.request('GET', '/v1/providers')).body
  expect(providers.find(({ name }: { name: string }) => name === 'cord')).toMatchObject({ configured: true })
})

test('kept keys come back after a restart with the secret they were kept with', async () => {
  const first = await boot({ isDurable: true, environment: { SVC_PROVIDER_KEYS_SECRET: 'a long enough secret' } })
  await first.request('PUT', '/v1/providers/cord/key', { key: 'sk-kept' })
  const { stop } = first
  await first.daemon.stop()
  const again = await bootOnCopy({
    ...BENCH,
    isDurable: true,
    dir: first.dir,
    config: config(),
    environment: { SVC_PROVIDER_KEYS_SECRET: 'a long enough secret' },
  })
  const { providers } = (await again.request('GET', '/v1/providers')).body
  await again.stop()
  await stop()
  live = undefined
  expect(providers.find(({ name }: { name: string }) => name === 'cord')).toMatchObject({ configured: true })
})
