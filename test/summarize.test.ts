import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClient } from '#test/kit/boot'
import { ECHO_WIRE, startUpstream, type Upstream } from '#test/kit/echo-wire'
import { makeKey } from '#test/kit/keys'
import { bootOnCopy, type ReloadBench, type ReloadBenchOptions } from '#test/kit/reload-bench'

let acme: Upstream
let live: ReloadBench | undefined
beforeEach(async () => {
  acme = await startUpstream('acme')
})
afterEach(async () => {
  await live?.stop()
  live = undefined
  acme.server.closeAllConnections()
  await new Promise(resolve => acme.server.close(resolve))
})

const CONFIG = () => `
model = "acme-1"
[plugins.catalog.providers.acme]
base_url = "${acme.url}"
api_key_env = "ACME_API_KEY"
protocol = "echo"
models.acme-1.context_window = 1000
models.acme-small.context_window = 1000
`
const BODY = { messages: [{ role: 'user', content: 'paint it blue' }] }

async function boot(options: Partial<ReloadBenchOptions> = {}): Promise<ReloadBench> {
  live = await bootOnCopy({
    plugins: { 'echo-wire': ECHO_WIRE },
    config: CONFIG(),
    ...options,
    settings: { provider: '', ...options.settings },
  })
  return live
}

test('the default model writes the summary, or the one that is named for summaries', async () => {
  const bench = await boot()
  expect(await bench.request('POST', '/v1/summarize', BODY)).toMatchObject({
    status: 200,
    body: { summary: 'from acme' },
  })
  await bench.configure(`role_model_summarizer = "acme-small"\n${CONFIG()}`)
  await bench.reload()
  expect((await bench.request('POST', '/v1/summarize', BODY)).status).toBe(200)
  expect(acme.heard.map(({ path }) => path)).toEqual(['/turn?model=acme-1', '/turn?model=acme-small'])
})

test('without a model that can be asked it is 503 and says what to set; a body that is wrong is 400 all the same', async () => {
  const bench = await boot({ config: 'model = "claude-opus-5"\n' })
  const reply = await bench.request('POST', '/v1/summarize', BODY)
  expect([reply.status, reply.body.error.code]).toEqual([503, 'summarizer_not_configured'])
  const broken = await bench.request('POST', '/v1/summarize', '{"messages": ')
  expect([broken.status, broken.body.error.code]).toEqual([400, 'invalid_json'])
  const empty = await bench.request('POST', '/v1/summarize', { messages: [] })
  expect([empty.status, empty.body.error.code]).toEqual([400, 'invalid_request'])
  expect(empty.body.error.message).toContain('messages')
  expect((await bench.request('GET', '/v1/summarize')).status).toBe(405)
})

test('a provider that fails is 500 with its reason', async () => {
  const bench = await boot()
  acme.status = 401
  const reply = await bench.request('POST', '/v1/summarize', BODY)
  expect([reply.status, reply.body.error]).toEqual([
    500,
    {
      code: 'summarize_failed',
      message: expect.stringMatching(/^no summary could be written: acme says 401; .*acme\/key$/),
    },
  ])
})

test('it takes the scope to write', async () => {
  const bench = await boot({ isDurable: true, hasAuth: true })
  const as = async (scope: string) =>
    createClient(bench.url, (await makeKey(join(bench.dir, 'runs.db'), 'one', scope)).token).request
  expect(await (await as('runs:read'))('POST', '/v1/summarize', BODY)).toMatchObject({
    status: 403,
    body: { error: 'insufficient_scope', required: 'runs:write' },
  })
  expect((await bench.request('POST', '/v1/summarize', BODY)).status).toBe(401)
  expect((await (await as('runs:write'))('POST', '/v1/summarize', BODY)).status).toBe(200)
}, 20_000)
