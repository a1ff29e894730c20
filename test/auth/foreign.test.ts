import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AuthBench, bootWithAuth } from './auth-bench.js'

let live: AuthBench
let theirs = ''
let runId = ''
let stranger: ReturnType<AuthBench['as']>
beforeAll(async () => {
  live = await bootWithAuth({ turns: [{ content: 'one' }, { content: 'two', delay_ms: 600_000 }] })
  theirs = await live.addKey({ tenant_id: 'acme' })
  stranger = live.as(await live.addKey({ tenant_id: 'rival' }))
  const owner = live.as(theirs)
  runId = (await owner.run({ prompt: 'go', conversation_id: 'secret-talk' }))[0]!.run_id
})
afterAll(() => live.stop())

const UNKNOWN = 'run_00000000-0000-4000-8000-000000000000'
/** A body that would be fine, for routes that want one. */
const BODY = { prompt: 'x', answers: {}, todos: [], payload: {} }

test("another tenant's id and an unknown one get the same answer, byte for byte, on every route with an id", async () => {
  const routes = live.daemon.host.current.app.routes.filter(
    ({ url, scope }) => url.includes('/:id') && scope !== 'none',
  )
  expect(routes.length).toBeGreaterThanOrEqual(5)
  for (const { method, url } of routes) {
    const foreignId = url.startsWith('/v1/conversations') ? 'secret-talk' : runId
    const ask = async (id: string) => {
      const path = url.replace(':id', encodeURIComponent(id)).replaceAll(/:[^/]+/g, 'x')
      const { status, headers, body } = await stranger.request(method, path, method === 'GET' ? undefined : BODY)
      const kept = [...headers].filter(([name]) => name !== 'date' && name !== 'content-length')
      return { status, headers: kept, body: JSON.stringify(body).replaceAll(id, '<id>') }
    }
    const [foreign, unknown] = [await ask(foreignId), await ask(UNKNOWN)]
    expect(foreign, `${method} ${url}`).toEqual(unknown)
    expect(foreign.status, `${method} ${url}`).toBe(404)
  }
})

test('its owner sees what the stranger does not', async () => {
  const owner = live.as(theirs)
  expect((await owner.request('GET', `/v1/runs/${runId}`)).status).toBe(200)
  expect((await owner.request('GET', '/v1/runs')).body.runs).toHaveLength(1)
  expect((await stranger.request('GET', '/v1/runs')).body.runs).toEqual([])
  expect((await stranger.request('GET', '/v1/runs?conversation_id=secret-talk')).body.runs).toEqual([])
  expect((await stranger.request('GET', `/v1/runs?after=${runId}`)).body.runs).toEqual([])
  expect((await stranger.request('GET', '/v1/runs?tenant_id=acme')).status).toBe(400)
})

test('a Last-Event-ID of another tenant shows nothing of it and counts as malformed', async () => {
  const own = await stranger.start({ prompt: 'mine', conversation_id: 'mine' })
  await stranger.until(own, 'llm.turn.requested')
  for await (const event of stranger.follow(own, `${runId}:2`)) {
    expect(event.id).toBe(`${own}:0`)
    break
  }
  await stranger.request('POST', `/v1/runs/${own}/cancel`)
})

test('the same conversation id and the same idempotency key live once in each tenant', async () => {
  const post = (client: typeof stranger, prompt: string) =>
    client.request('POST', '/v1/runs', { prompt, conversation_id: 'secret-talk' }, { 'idempotency-key': 'shared' })
  const [mine, foreign] = [await post(live.as(theirs), 'a'), await post(stranger, 'b')]
  expect([mine.status, foreign.status]).toEqual([202, 202])
  expect(mine.body.run_id).not.toBe(foreign.body.run_id)
  const events = await stranger.events(foreign.body.run_id)
  expect(events.map(({ type }) => type)).not.toContain('conversation.continued')
})
