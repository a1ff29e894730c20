import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { keysCommand, makeKey } from '#test/kit/keys'
import { framesIn, readStream } from '#test/kit/stream-reader'
import { type AuthBench, bootWithAuth } from './auth-bench.js'

let live: AuthBench
afterEach(() => live.stop())

test('a key that another process revokes is refused within 1 s, and its open streams end within 5 s', {
  timeout: 60_000,
}, async () => {
  live = await bootWithAuth({ turns: [{ content: 'late', delay_ms: 600_000 }] })
  const doomed = await makeKey(live.database, 'acme', 'runs:write')
  const staying = await makeKey(live.database, 'acme', 'runs:write')
  const client = live.as(doomed.token)
  const runId = await client.start('go')
  await client.until(runId, 'llm.turn.requested')
  const stop = new AbortController()
  const url = `${live.url}/v1/runs/${runId}/events`
  const [cut, kept] = [doomed, staying].map(({ token }) => readStream(url, { token, signal: stop.signal }))
  await expect.poll(() => live.daemon.openStreams).toBe(2)
  expect(await keysCommand(live.database, 'revoke', doomed.prefix)).toMatchObject({})
  const revokedAt = performance.now()
  let acceptedAt = revokedAt
  await expect
    .poll(async () => {
      const sentAt = performance.now()
      const { status } = await client.request('GET', `/v1/runs/${runId}`)
      if (status !== 401) acceptedAt = sentAt
      return status
    })
    .toBe(401)
  expect(acceptedAt - revokedAt).toBeLessThan(1_000)
  const { isWhole, bytes } = await cut!
  expect(performance.now() - revokedAt).toBeLessThan(5_000)
  expect(isWhole).toBe(false)
  expect(framesIn(bytes).length).toBeGreaterThan(0)
  // Only the streams of that key.
  expect(live.daemon.openStreams).toBe(1)
  expect((await live.as(staying.token).request('POST', `/v1/runs/${runId}/cancel`)).status).toBe(200)
  expect((await kept!).isWhole).toBe(true)
})

test('a key that expires is refused from that moment on, also on its open stream', async () => {
  live = await bootWithAuth({ turns: [{ content: 'late', delay_ms: 600_000 }] })
  const expiresAt = Date.now() + 2_500
  const token = await live.addKey({ expires_at: new Date(expiresAt).toISOString() })
  const client = live.as(token)
  const runId = await client.start('go')
  const { isWhole } = await readStream(`${live.url}/v1/runs/${runId}/events`, { token })
  expect(isWhole).toBe(false)
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAt)
  await live.daemon.runs.cancel('acme', runId)
  expect(await client.request('GET', `/v1/runs/${runId}`)).toMatchObject({
    status: 401,
    body: { error: { code: 'unauthorized', message: 'api key expired' } },
  })
})

test('no raw key stands in a log, an event, an answer or a file, however it was sent', async () => {
  live = await bootWithAuth({ settings: { log_level: 'trace' } })
  const { token } = await makeKey(live.database, 'acme', 'admin')
  // Between its first and its last underscore; the secret may hold more of them.
  const secret = token.slice(token.indexOf('_') + 1, token.lastIndexOf('_'))
  expect(secret).toHaveLength(43)
  const texts: string[] = []
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    texts.push(JSON.stringify(await live.request('GET', path, undefined, headers)))
  const events = await live.as(token).run('go')
  texts.push(JSON.stringify(events))
  const runId = events[0]!.run_id
  await ask(`/v1/runs/${runId}?token=${token}`)
  await ask(`/v1/runs/${runId}?%74oken=${token}`)
  await ask(`/v1/runs/nope?token=${token}`)
  await ask(`/v1/nothing/${token}`, { authorization: `Bearer ${token}` })
  await ask(`/v1/runs?status=${token}`, { authorization: `Bearer ${token}` })
  await ask(`/v1/runs/${runId}`, { authorization: `Bearer ${token}x` })
  texts.push((await readStream(`${live.url}/v1/runs/${runId}/events?token=${token}`)).bytes.toString())
  texts.push(JSON.stringify(live.logged))
  for (const name of await readdir(live.dir, { recursive: true }))
    texts.push(await readFile(join(live.dir, name), 'latin1').catch(() => ''))
  expect(texts.length).toBeGreaterThan(10)
  expect(texts.filter(text => text.includes(secret))).toEqual([])
})
