import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClient } from '#test/kit/boot'
import { ECHO_WIRE, startUpstream, type Upstream } from '#test/kit/echo-wire'
import { makeKey } from '#test/kit/keys'
import { type ModelServer, startModelServer } from '#test/kit/model-server'
import { bootOnCopy, type ReloadBench, type ReloadBenchOptions } from '#test/kit/reload-bench'
import { codex, jwt, seconds } from '#test/subscriptions/session-bench'

let vendor: Upstream
let tokens: ModelServer
const live: ReloadBench[] = []
beforeEach(async () => {
  vendor = await startUpstream('vendor')
  tokens = await startModelServer((_, response, index) => {
    response.end(JSON.stringify({ access_token: `fresh-${index}`, refresh_token: `next-${index}`, expires_in: 3600 }))
  })
})
afterEach(async () => {
  for (const bench of live.splice(0)) await bench.stop()
  vendor.server.closeAllConnections()
  await new Promise(resolve => vendor.server.close(resolve))
  await tokens.close()
})

const CONFIG = () => `
[plugins.subscriptions]
codex_token_url = "${tokens.origin}/token"
kimi_token_url = "${tokens.origin}/token"
[plugins.catalog.providers.codex-subscription]
base_url = "${vendor.url}"
protocol = "echo"
[plugins.catalog.providers.kimi-subscription]
base_url = "${vendor.url}"
protocol = "echo"
`

async function boot(options: Partial<ReloadBenchOptions> = {}): Promise<ReloadBench> {
  const bench = await bootOnCopy({
    plugins: { 'echo-wire': ECHO_WIRE },
    settings: { provider: '' },
    config: CONFIG(),
    ...options,
  })
  live.push(bench)
  return bench
}

async function logIn(home: string, content: object): Promise<void> {
  await mkdir(join(home, '.codex'), { recursive: true })
  await writeFile(join(home, '.codex/auth.json'), JSON.stringify(content), { mode: 0o600 })
}

const PATH = '/v1/providers/codex-subscription/import-subscription'
const ask = async (bench: ReloadBench) =>
  (await bench.run({ prompt: 'hi', provider_name: 'codex-subscription', model: 'gpt-5.6-sol' })).at(-1)
const configured = async ({ request }: ReloadBench) =>
  (await request('GET', '/v1/providers')).body.providers.find(
    ({ name }: { name: string }) => name === 'codex-subscription',
  )

test('a run is asked with the imported session, through reloads, a renewal and a restart', async () => {
  const first = await boot()
  const home = first.dir
  await first.daemon.stop()
  const environment = { HOME: home }
  const bench = await boot({ dir: home, environment })
  expect(await configured(bench)).toMatchObject({ configured: false, auth_type: 'subscription' })
  expect(await bench.request('POST', PATH)).toMatchObject({
    status: 400,
    body: { error: { code: 'subscription_import_failed', message: expect.stringContaining('log in with codex') } },
  })
  await logIn(home, codex({ access_token: jwt({ exp: seconds(-1) }) }))
  expect(await bench.request('POST', PATH)).toMatchObject({ status: 204, body: '' })
  expect(await configured(bench)).toMatchObject({ configured: true })
  expect(await ask(bench)).toMatchObject({ type: 'run.completed', payload: { output: 'from vendor' } })

  await bench.edit('subscriptions', 'index.js', 'definePlugin({', 'definePlugin({ /* touched */')
  await bench.daemon.sync()
  expect(await ask(bench)).toMatchObject({ payload: { output: 'from vendor' } })
  await rm(join(home, '.codex'), { recursive: true })
  await bench.daemon.stop()
  const after = await boot({ dir: home, environment })
  expect(await configured(after)).toMatchObject({ configured: true })
  expect(await ask(after)).toMatchObject({ payload: { output: 'from vendor' } })

  const sent = vendor.heard.map(({ headers }) => [headers.authorization, headers['chatgpt-account-id']])
  expect(sent).toEqual(Array.from({ length: 3 }, () => ['Bearer fresh-0', 'acct-1']))
  expect(tokens.calls).toHaveLength(1)
  const told = JSON.stringify([bench.logged, after.logged, (await after.request('GET', '/v1/providers')).body])
  expect(told).not.toMatch(/fresh-0|next-0|codex-refresh-1/)
  const kept = JSON.parse(await readFile(join(home, '.runwright/subscription-auth/codex.json'), 'utf8'))
  expect(kept).toMatchObject({ accessToken: 'fresh-0', refreshToken: 'next-0' })
}, 60_000)

test('a session that is over fails the run with what to do', async () => {
  await tokens.close()
  tokens = await startModelServer((_, response) => void response.writeHead(400).end('{"error":"invalid_grant"}'))
  const first = await boot()
  await first.daemon.stop()
  const bench = await boot({ dir: first.dir, environment: { HOME: first.dir } })
  await logIn(first.dir, codex({ access_token: jwt({ exp: seconds(-1) }) }))
  await bench.request('POST', PATH)
  for (let round = 0; round < 2; round += 1)
    expect(await ask(bench)).toMatchObject({
      type: 'run.failed',
      payload: { error: expect.stringContaining('import its session again') },
    })
  expect([tokens.calls.length, vendor.heard.length]).toEqual([1, 0])
}, 30_000)

test('importing is an admin’s, other names are not found, other ways to ask neither', async () => {
  const bench = await boot({ isDurable: true, hasAuth: true })
  const database = join(bench.dir, 'runs.db')
  const as = async (scope: string) => createClient(bench.url, (await makeKey(database, 'one', scope)).token).request
  const [writer, admin] = [await as('runs:write'), await as('admin')]
  expect(await writer('POST', PATH)).toMatchObject({
    status: 403,
    body: { error: 'insufficient_scope', required: 'admin' },
  })
  expect((await bench.request('POST', PATH)).status).toBe(401)
  for (const name of ['openai', 'nope', '__proto__'])
    expect(await admin('POST', `/v1/providers/${name}/import-subscription`)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    })
  expect((await admin('GET', PATH)).status).toBe(405)
  expect((await admin('POST', `${PATH}/more`)).status).toBe(404)
}, 20_000)

test('without plugins/providers nobody could use a session', async () => {
  const bench = await boot({ without: ['providers'] })
  expect(await bench.request('POST', PATH)).toMatchObject({ status: 501, body: { error: { code: 'not_implemented' } } })
})
