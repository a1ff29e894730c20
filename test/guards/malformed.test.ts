import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { sendRaw } from '#test/kit/raw-http'
import { bytesOf, malformedFor } from './malformed.js'

let live: Booted
const rejections: unknown[] = []
const note = (error: unknown) => void rejections.push(error)
beforeAll(async () => {
  process.on('unhandledRejection', note)
  live = await boot({ isDurable: true })
})
afterAll(async () => {
  process.off('unhandledRejection', note)
  await live.stop()
})

/** Stack frames, and the names of our own files. */
const INSIDES = /\n\s+at |node_modules|\.js:\d+|\/dist\/|\/tmp\/|SQLITE|FST_ERR/

test('whatever is sent to whatever route is answered with a sentence in the envelope and never with a 5xx', {
  timeout: 120_000,
}, async () => {
  const { routes } = live.daemon.host.current.app
  const wrong: string[] = []
  let sent = 0
  for (const { method, url } of routes) {
    if (url === '/v1/config/reload') continue
    const table = malformedFor(method, url)
    for (let at = 0; at < table.length; at += 20) {
      await Promise.all(
        table.slice(at, at + 20).map(async one => {
          const { status, body } = await sendRaw(live.daemon.port, bytesOf(one, live.daemon.port))
          sent += 1
          const problem = problemOf(status, body)
          if (problem) wrong.push(`${one.method} ${url}, ${one.name}: ${problem} ${status} ${body.slice(0, 100)}`)
        }),
      )
    }
  }
  console.log(`${sent} malformed requests to ${routes.length} routes`)
  expect(wrong).toEqual([])
  expect(rejections).toEqual([])
  expect(live.logged.filter(({ level }) => level === 'error')).toEqual([])
  expect((await live.request('GET', '/readyz')).status).toBe(200)
})

function problemOf(status: number, body: string): string | undefined {
  if (status < 200 || (status >= 500 && status !== 501)) return 'status'
  if (status < 400) return undefined
  if (INSIDES.test(body)) return 'insides'
  try {
    const { error } = JSON.parse(body)
    return typeof error.code === 'string' && typeof error.message === 'string' && error.message ? undefined : 'envelope'
  } catch {
    return 'no JSON'
  }
}

test('use of what is not there, in whatever spelling, is 404 or 400', async () => {
  for (const id of [
    'run_nope',
    'run_%7B%7D',
    'run_x%3Fy',
    '%7Bid%7D',
    'run_..',
    '..%2f..',
    '.',
    '..',
    'run_a%2Fb',
    'events',
  ])
    for (const [method, suffix] of [
      ['GET', ''],
      ['GET', '/events'],
      ['GET', '/summary'],
      ['POST', '/cancel'],
    ] as const) {
      const target = `/v1/runs/${id}${suffix}`
      const { status } = await sendRaw(
        live.daemon.port,
        bytesOf({ name: '', method, target, lines: [], body: Buffer.alloc(0) }, live.daemon.port),
      )
      expect([400, 404, 405], `${method} ${target}`).toContain(status)
    }
})

test('an id whose creation failed does not exist, and its idempotency key is still free', async () => {
  const post = (body: object) => live.request('POST', '/v1/runs', body, { 'idempotency-key': 'retry' })
  expect((await post({ prompt: '' })).status).toBe(400)
  expect((await post({ prompt: 'x', mcp_servers: [{ name: 'm', command: 'x' }] })).status).toBe(501)
  const fine = await post({ prompt: 'x' })
  expect(fine.status).toBe(202)
  expect((await post({ prompt: 'x' })).body.run_id).toBe(fine.body.run_id)
})

test('a run can be asked, cancelled and summed up in any order after its end', async () => {
  const runId = (await live.run('x'))[0]!.run_id
  for (let round = 0; round < 3; round++) {
    expect((await live.request('POST', `/v1/runs/${runId}/cancel`)).status).toBe(200)
    expect((await live.request('GET', `/v1/runs/${runId}/summary`)).status).toBe(200)
    expect(
      (await live.events(runId)).filter(({ type }) => /^run\.(completed|failed|cancelled)$/.test(type)),
    ).toHaveLength(1)
  }
})
