import { afterEach, beforeEach, expect, test } from 'vitest'
import { ECHO_WIRE, startUpstream, type Upstream } from '#test/kit/echo-wire'
import { bootOnCopy, type ReloadBench } from '#test/kit/reload-bench'

/** The first look comes within a second of the start, later on a busy machine. */
const PATIENCE = { timeout: 10_000 }

let acme: Upstream
let bolt: Upstream
let live: ReloadBench | undefined
beforeEach(async () => {
  acme = await startUpstream('acme')
  bolt = await startUpstream('bolt')
})
afterEach(async () => {
  await live?.stop()
  live = undefined
  for (const { server } of [acme, bolt]) {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
})

const CONFIG = () => `
[plugins.catalog.providers.acme]
base_url = "${acme.url}"
api_key_env = "ACME_API_KEY"
protocol = "echo"
lists_models = true
models.stated.context_window = 1000
`

async function boot(environment: Readonly<Record<string, string>>): Promise<ReloadBench> {
  const plugins = { 'echo-wire': ECHO_WIRE }
  live = await bootOnCopy({ plugins, settings: { provider: '' }, config: CONFIG(), environment })
  return live
}

const models = async ({ request }: ReloadBench) =>
  (await request('GET', '/v1/models')).body.models
    .filter(({ provider }: { provider: string }) => provider === 'acme')
    .map(({ id, context_window }: { id: string; context_window?: number }) => [id, context_window])

const listings = () => acme.heard.filter(({ path }) => path === '/models')

test('what a provider lists joins what the catalog states, once, also over reloads', async () => {
  acme.models = [
    { id: 'stated', context_length: 9 },
    { id: 'listed', context_length: 2000 },
  ]
  const bench = await boot({ ACME_API_KEY: 'sk-acme' })
  const known = [
    ['listed', 2000],
    ['stated', 1000],
  ]
  await expect.poll(() => models(bench), PATIENCE).toEqual(known)
  expect(listings().map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-acme'])
  const generationOf = async () => (await bench.row('live-models'))?.generation
  for (const [plugin, file, from] of [
    ['live-models', 'index.js', 'definePlugin({'],
    ['providers', 'index.js', 'definePlugin({'],
    ['catalog', 'index.js', 'definePlugin({'],
  ] as const) {
    const before = await generationOf()
    await bench.edit(plugin, file, from, `${from} /* touched */`)
    await bench.daemon.sync()
    expect(await generationOf()).not.toBe(before)
    expect(await models(bench)).toEqual(known)
  }
  // Whoever asks a provider that is new has looked at all of them.
  await bench.configure(CONFIG() + CONFIG().replace('providers.acme', 'providers.bolt').replace(acme.url, bolt.url))
  await bench.reload()
  await expect.poll(() => bolt.heard.map(({ path }) => path), PATIENCE).toEqual(['/models'])
  expect(listings()).toHaveLength(1)
}, 30_000)

test('a run can ask for a model nobody but the provider lists', async () => {
  acme.models = [{ id: 'listed' }]
  const bench = await boot({ ACME_API_KEY: 'sk-acme' })
  await expect.poll(() => models(bench), PATIENCE).toContainEqual(['listed', undefined])
  expect((await bench.run({ prompt: 'hi', model: 'listed' })).at(-1)).toMatchObject({
    type: 'run.completed',
    payload: { output: 'from acme' },
  })
})

test('a provider that fails is told once and contributes nothing', async () => {
  acme.status = 500
  const bench = await boot({ ACME_API_KEY: 'sk-acme' })
  await expect.poll(() => listings().length, PATIENCE).toBe(1)
  const warned = () => bench.logged.filter(({ plugin, level }) => plugin === 'live-models' && level === 'warn')
  await expect.poll(() => warned().length, PATIENCE).toBe(1)
  expect(warned()[0]).toMatchObject({ provider: 'acme', kept: 0 })
  expect(await models(bench)).toEqual([['stated', 1000]])
})
