import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import type { ModelServer } from '#test/kit/model-server'
import { startModelServer } from '#test/kit/model-server'
import { CHAT, MESSAGES, RESPONSES, type WireCase } from '#test/providers/wires'
import { codex } from '#test/subscriptions/session-bench'

/** The first look comes within a second of the start, later on a busy machine. */
const PATIENCE = { timeout: 10_000 }

let server: ModelServer
let live: Booted | undefined
afterEach(async () => {
  await live?.stop()
  live = undefined
  await server.close()
})

/** A provider that lists one model and answers every turn. */
async function startListing({ scripted }: WireCase): Promise<ModelServer> {
  server = await startModelServer(({ path }, response) => {
    if (path.split('?')[0]?.endsWith('/models'))
      response.end(JSON.stringify({ data: [{ id: 'listed-1', context_length: 4096 }] }))
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(scripted.frames({ text: 'hi' }).join(''))
  })
  return server
}

const modelsOf = async ({ request }: Booted, provider: string) =>
  (await request('GET', '/v1/models')).body.models
    .filter((model: { provider: string }) => model.provider === provider)
    .map(({ id }: { id: string }) => id)

test.each([
  ['openai_compat', CHAT, 'authorization', 'Bearer sk-acme'],
  ['anthropic', MESSAGES, 'x-api-key', 'sk-acme'],
] as const)('a provider that speaks %s is added, fetched and asked', async (protocol, wire, header, value) => {
  const { origin, calls } = await startListing(wire)
  live = await boot({ settings: { provider: '' }, environment: { SVC_LIVE_MODELS: 'false' } })
  const draft = { name: 'acme', base_url: `${origin}/v1`, protocol, api_key: 'sk-acme' }
  expect((await live.request('POST', '/v1/model-settings/providers', draft)).status).toBe(200)
  expect((await live.request('POST', '/v1/model-settings/providers/acme/fetch')).body).toEqual({
    ok: true,
    model_count: 1,
  })
  expect((await live.run({ prompt: 'hi', model: 'listed-1' })).at(-1)).toMatchObject({ payload: { output: 'hi' } })
  expect(calls.map(({ path, headers }) => [path.split('?')[0], headers[header]])).toEqual([
    ['/v1/models', value],
    [`/v1${wire.scripted.path}`, value],
  ])
})

test('the catalog’s own provider at a local server is listed in the background', async () => {
  const { origin, calls } = await startListing(CHAT)
  live = await boot({ settings: { provider: '' }, environment: CHAT.environment(origin) })
  const bench = live
  await expect.poll(() => modelsOf(bench, 'openai'), PATIENCE).toContain('listed-1')
  expect(calls.map(({ path }) => path)).toEqual(['/v1/models'])
})

test('codex is asked by the Responses API, below its address as it is, with the account of the session', async () => {
  const { origin, calls } = await startListing(RESPONSES)
  const first = await boot()
  await mkdir(join(first.dir, '.codex'))
  await writeFile(join(first.dir, '.codex/auth.json'), JSON.stringify(codex()), { mode: 0o600 })
  const configFile = join(first.dir, 'config.toml')
  await writeFile(
    configFile,
    `[plugins.catalog.providers.codex-subscription]\nbase_url = "${origin}/backend-api/codex"\n`,
  )
  await first.daemon.stop()
  const environment = { HOME: first.dir }
  live = { ...(await boot({ dir: first.dir, configFile, settings: { provider: '' }, environment })), stop: first.stop }
  expect((await live.request('POST', '/v1/providers/codex-subscription/import-subscription')).status).toBe(204)
  const events = await live.run({ prompt: 'hi', model: 'gpt-5.6-sol' })
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'hi' } })
  expect(calls.map(({ path, headers }) => [path, headers['chatgpt-account-id']])).toEqual([
    ['/backend-api/codex/responses', 'acct-1'],
  ])
  expect(calls[0]?.headers.authorization).toMatch(/^Bearer eyJ/)
})

test('a summary is written by any wire, and by the fake provider', async () => {
  const { origin } = await startListing(MESSAGES)
  live = await boot({
    settings: { provider: '', model: 'claude-sonnet-5' },
    environment: { ...MESSAGES.environment(origin), SVC_LIVE_MODELS: 'false' },
  })
  const body = { messages: [{ role: 'user', content: 'paint it blue' }] }
  expect(await live.request('POST', '/v1/summarize', body)).toMatchObject({ status: 200, body: { summary: 'hi' } })
  await live.stop()
  live = await boot({ turns: [{ content: 'they want it blue' }] })
  expect(await live.request('POST', '/v1/summarize', body)).toMatchObject({ body: { summary: 'they want it blue' } })
  const exhausted = await live.request('POST', '/v1/summarize', body)
  expect([exhausted.status, exhausted.body.error.code]).toEqual([500, 'summarize_failed'])
})
