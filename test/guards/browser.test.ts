import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { sendRaw } from '#test/kit/raw-http'

let live: Booted
let runId = ''
beforeAll(async () => {
  live = await boot({ isDurable: true, turns: [{ content: 'late', delay_ms: 600_000 }] })
  runId = await live.start('go')
  await live.until(runId, 'llm.turn.requested')
})
afterAll(async () => {
  await live.request('POST', `/v1/runs/${runId}/cancel`)
  await live.stop()
})

interface Attempt {
  readonly name: string
  readonly lines: readonly string[]
  readonly version?: string
  readonly type?: string
  /** Only where a body is sent. */
  readonly isAboutBodies?: boolean
  readonly target?: (path: string) => string
  readonly status: readonly number[]
}

/** What a page in the operator's browser, or a name that was rebound to us, can send. */
function attempts(): readonly Attempt[] {
  const { port } = live.daemon
  const host = `host: 127.0.0.1:${port}`
  const foreignHost = (value: string): Attempt => ({ name: `host ${value}`, lines: [`host: ${value}`], status: [403] })
  const foreignOrigin = (value: string): Attempt => ({
    name: `origin ${value}`,
    lines: [host, `origin: ${value}`],
    status: [403],
  })
  const wrongType = (type: string): Attempt => ({
    name: `type ${type}`,
    lines: [host],
    type,
    isAboutBodies: true,
    status: [415],
  })
  return [
    ...[
      `evil.test:${port}`,
      'evil.test',
      'localhost',
      '127.0.0.1',
      `127.0.0.1:${port === 1 ? 2 : port - 1}`,
      `localhost.:${port}`,
      `127.0.0.1.:${port}`,
      `127.1:${port}`,
      `2130706433:${port}`,
      `0x7f000001:${port}`,
      `0177.0.0.1:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      `127.0.0.1:${port}@evil.test`,
      `127.0.0.1:${port}, evil.test`,
      '',
    ].map(foreignHost),
    { name: 'no host', lines: [], status: [400, 403] },
    { name: 'no host in HTTP/1.0', lines: [], version: '1.0', status: [400, 403] },
    { name: 'two hosts', lines: [host, 'host: evil.test'], status: [400, 403] },
    ...[
      'http://evil.test',
      'https://evil.test',
      'null',
      '*',
      `http://127.0.0.1:${port + 1}`,
      'http://127.0.0.1',
      `http://localhost:${port}`,
      `https://127.0.0.1:${port}`,
      `http://127.0.0.1:${port}.evil.test`,
      `http://127.0.0.1:${port}/`,
    ].map(foreignOrigin),
    {
      name: 'two origins',
      lines: [host, `origin: http://127.0.0.1:${port}`, 'origin: http://evil.test'],
      status: [403],
    },
    { name: 'cross-site without origin', lines: [host, 'sec-fetch-site: cross-site'], status: [403] },
    { name: 'same-site without origin', lines: [host, 'sec-fetch-site: same-site'], status: [403] },
    wrongType('text/plain'),
    wrongType('text/plain; charset=application/json'),
    wrongType('application/x-www-form-urlencoded'),
    wrongType('multipart/form-data; boundary=x'),
    wrongType('application/jsonp'),
    { name: 'no type', lines: [host], type: '', isAboutBodies: true, status: [415] },
    { name: 'absolute target', lines: [host], target: path => `http://evil.test${path}`, status: [400] },
    { name: 'doubled slash', lines: [host], target: path => `/${path}`, status: [400] },
    { name: 'dot segment', lines: [host], target: path => `/v1/..${path}`, status: [400] },
  ]
}

async function send(method: string, path: string, attempt: Attempt) {
  const { target = (text: string) => text, version = '1.1', type = 'application/json', lines } = attempt
  const body = method === 'GET' ? '' : JSON.stringify({ prompt: 'forged' })
  const head = [
    `${method} ${target(path)} HTTP/${version}`,
    ...lines,
    'connection: close',
    ...(body && type ? [`content-type: ${type}`] : []),
    ...(body ? [`content-length: ${Buffer.byteLength(body)}`] : []),
  ]
  return sendRaw(live.daemon.port, `${head.join('\r\n')}\r\n\r\n${body}`)
}

test('no route does anything for a page of another origin or a rebound name, auth off', {
  timeout: 60_000,
}, async () => {
  const { routes } = live.daemon.host.current.app
  const before = await state()
  const wrong: string[] = []
  let cells = 0
  for (const { method, url } of routes) {
    const path = url.replaceAll(/:[^/]+/g, runId).replace('*', 'x')
    for (const attempt of attempts()) {
      if (attempt.isAboutBodies && method === 'GET') continue
      cells += 1
      const { status, body, headers } = await send(method, path, attempt)
      const isEnvelope = /^{"error":{"code":"[a-z_]+","message":"/.test(body)
      if (!attempt.status.includes(status) || !isEnvelope || headers['access-control-allow-origin'] !== undefined)
        wrong.push(`${method} ${url}, ${attempt.name}: ${status} ${body.slice(0, 80)}`)
    }
  }
  expect(wrong).toEqual([])
  expect(cells).toBeGreaterThan(300)
  expect(await state()).toEqual(before)
})

/** What a forged request could have changed. */
async function state() {
  const { body } = await live.request('GET', '/v1/runs')
  return { runs: body.runs, epoch: live.daemon.host.current.number }
}

test('honest local requests pass', async () => {
  const { port } = live.daemon
  const own = `http://127.0.0.1:${port}`
  for (const lines of [
    [`host: 127.0.0.1:${port}`],
    [`host: localhost:${port}`],
    [`host: LOCALHOST:${port}`],
    [`host: [::1]:${port}`],
    [`host: 127.0.0.1:${port}`, `origin: ${own}`, 'sec-fetch-site: same-origin'],
    [`host: 127.0.0.1:${port}`, 'sec-fetch-site: none'],
  ])
    expect((await send('GET', `/v1/runs/${runId}`, { name: '', lines, status: [] })).status, lines.join()).toBe(200)
})

test('a preflight of a foreign origin is not answered', async () => {
  const { port } = live.daemon
  const lines = [`host: 127.0.0.1:${port}`, 'origin: http://evil.test', 'access-control-request-method: POST']
  const { status, headers } = await send('OPTIONS', '/v1/runs', { name: '', lines, status: [] })
  expect(status).toBe(403)
  expect(Object.keys(headers).filter(name => name.startsWith('access-control'))).toEqual([])
})
