import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { RoutePlugin } from '#contracts/http'
import { bootFront, type FrontUnderTest, TEST_SETTINGS } from '#test/kit/boot-front'
import { requestText, sendRaw } from '#test/kit/raw-http'
import { parseBindAddress } from './bind-address.js'
import { createFront } from './front.js'
import { releaseLease } from './lease.js'

const effects: string[] = []
/** Ends each request to `/v1/wait` that has arrived. */
let waits: (() => void)[] = []
const waitArrives = () => expect.poll(() => waits).toHaveLength(1)
afterEach(() => {
  waits = []
})
const probe: RoutePlugin = async app => {
  app.post('/v1/runs', { config: { scope: 'runs:write' } }, async () => {
    effects.push('run')
    return {}
  })
  app.get('/v1/things/:id', { config: { scope: 'runs:read' } }, async request => request.params)
  app.get('/v1/stream', { config: { scope: 'runs:read', timeoutMs: 'none' } }, async (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
    reply.raw.write(': hello\n\n')
    releaseLease(reply.raw)
  })
  app.get('/v1/wait', { config: { scope: 'runs:read', timeoutMs: 'none' } }, async () => {
    await new Promise<void>(resolve => waits.push(resolve))
    return { waited: true }
  })
}

const TRUSTED = 'https://console.example'
let daemon: FrontUnderTest
beforeAll(async () => {
  daemon = await bootFront([probe], {
    settings: { allowedOrigins: [TRUSTED], allowedHosts: ['Agents.example:8443'] },
    limits: { headersTimeoutMs: 1000, requestTimeoutMs: 2000, checkEveryMs: 30, maxHeaderBytes: 8192 },
  })
})
afterAll(() => daemon.close())

const get = (target: string, ...lines: string[]) => sendRaw(daemon.port, requestText('GET', target, lines))
const own = () => `Host: 127.0.0.1:${daemon.port}`
const codeOf = (body: string) => JSON.parse(body).error.code

describe('the Host header', () => {
  test.each([
    ['127.0.0.1:PORT', 200],
    ['localhost:PORT', 200],
    ['LOCALHOST:PORT', 200],
    ['[::1]:PORT', 200],
    ['agents.example:8443', 200],
    ['agents.example', 403],
    ['agents.example:PORT', 403],
    ['localhost', 403],
    ['localhost:1', 403],
    ['localhost.:PORT', 403],
    ['evil.example:PORT', 403],
    ['127.0.0.1.nip.example:PORT', 403],
    ['2130706433:PORT', 403],
    ['0x7f.1:PORT', 403],
    ['127.1:PORT', 403],
    ['0.0.0.0:PORT', 403],
    ['[::ffff:127.0.0.1]:PORT', 403],
    ['user@localhost:PORT', 403],
    ['localhost:PORT, evil.example', 403],
    ['', 403],
  ])('%s answers %i', async (host, status) => {
    for (const path of ['/healthz', '/v1/things/1', '/v1/nothing']) {
      const reply = await get(path, `Host: ${host.replace('PORT', String(daemon.port))}`)
      expect(reply.status).toBe(status === 200 && path === '/v1/nothing' ? 404 : status)
      if (status === 403) expect(codeOf(reply.body)).toBe('forbidden')
    }
  })

  test('must be there once, also in HTTP/1.0; the refusal names the hosts', async () => {
    const none = await sendRaw(daemon.port, 'GET /healthz HTTP/1.0\r\n\r\n')
    expect([none.status, JSON.parse(none.body).error.message]).toEqual([403, expect.stringContaining('localhost:')])
    expect((await get('/healthz')).status).toBe(403)
    expect((await get('/healthz', own(), 'Host: evil.example')).status).toBe(403)
    expect((await get('/healthz', own(), own())).status).toBe(403)
  })
})

describe('a request of a web page', () => {
  test.each([
    ['http://127.0.0.1:PORT', 200],
    [TRUSTED, 200],
    ['http://localhost:PORT', 403],
    ['http://127.0.0.1:3000', 403],
    ['http://127.0.0.1', 403],
    ['https://127.0.0.1:PORT', 403],
    ['http://evil.example', 403],
    ['https://console.example.evil.example', 403],
    ['https://console.example:444', 403],
    ['null', 403],
    ['', 403],
  ])('with the Origin "%s" answers %i and is never echoed unless listed', async (origin, status) => {
    effects.length = 0
    const text = requestText(
      'POST',
      '/v1/runs',
      [own(), `Origin: ${origin.replace('PORT', String(daemon.port))}`, 'content-type: application/json'],
      '{}',
    )
    const reply = await sendRaw(daemon.port, text)
    expect(reply.status).toBe(status)
    expect(effects).toEqual(status === 200 ? ['run'] : [])
    expect(reply.headers['access-control-allow-origin']).toBe(origin === TRUSTED ? TRUSTED : undefined)
  })

  test('with two Origins, or from another site without any, is refused', async () => {
    expect((await get('/v1/things/1', own(), `Origin: ${TRUSTED}`, 'Origin: http://evil.example')).status).toBe(403)
    expect((await get('/v1/things/1', own(), 'Sec-Fetch-Site: cross-site')).status).toBe(403)
    expect((await get('/v1/things/1', own(), 'Sec-Fetch-Site: same-site')).status).toBe(403)
    expect((await get('/v1/things/1', own(), 'Sec-Fetch-Site: none')).status).toBe(200)
    expect((await get('/v1/things/1', own(), 'Sec-Fetch-Site: cross-site', `Origin: ${TRUSTED}`)).status).toBe(200)
  })

  test('may ask beforehand only from a listed origin', async () => {
    const ask = (origin: string) =>
      sendRaw(
        daemon.port,
        requestText('OPTIONS', '/v1/runs', [own(), `Origin: ${origin}`, 'Access-Control-Request-Method: POST']),
      )
    const asked = await ask(TRUSTED)
    expect(asked).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': TRUSTED } })
    expect(asked.headers['access-control-allow-headers']).toContain('last-event-id')
    expect((await ask('http://evil.example')).status).toBe(403)
  })

  test('sees a new list of origins at once', async () => {
    daemon.settings.allowedOrigins = [TRUSTED, 'http://new.example']
    expect((await get('/healthz', own(), 'Origin: http://new.example')).status).toBe(200)
  })
})

test('until the daemon is ready requests wait, but for probes and what is refused anyway', async () => {
  let getReady = (): void => {}
  const ready = new Promise<void>(resolve => {
    getReady = resolve
  })
  const starting = await bootFront([probe], { ready })
  const ask = async (path: string, headers = {}) => (await fetch(starting.url + path, { headers })).status
  let isReady = false
  const waiting = ask('/v1/things/1').then(status => [status, isReady])
  expect(await ask('/healthz')).toBe(200)
  expect(await ask('/v1/things/1', { origin: 'https://evil.example' })).toBe(403)
  const { server } = starting.front
  const gone = new Promise(resolve => server.once('connection', socket => socket.once('close', resolve)))
  const arrived = new Promise(resolve => server.once('request', resolve))
  const leaver = connect(starting.port, '127.0.0.1')
  leaver.write(requestText('GET', '/v1/things/2', [`Host: 127.0.0.1:${starting.port}`]))
  await arrived
  leaver.destroy()
  await gone
  isReady = true
  getReady()
  expect(await waiting).toEqual([200, true])
  expect(await ask('/v1/things/1')).toBe(200)
  await expect.poll(() => starting.leases.out).toBe(0)
  await starting.close()
})

test('every reply carries the security headers', async () => {
  for (const path of ['/healthz', '/v1/nothing', '/v1//x'])
    expect((await get(path, own())).headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
})

test.each([
  ['/v1/things/a.b-c_d~e', 200],
  ['/v1/things/a%20b', 200],
  ['/v1/things/%7Bx%7D', 200],
  ['/v1/things/%E2%82%AC', 200],
  ['/v1/things/1?x=../..//%2e', 200],
  ['/v1/things/..', 400],
  ['/v1/x/../things/1', 400],
  ['/v1/./things/1', 400],
  ['/v1//things/1', 400],
  ['//v1/things/1', 400],
  ['/v1/things/%2e%2e', 400],
  ['/v1/things/%2E', 400],
  ['/v1/things/a%2fb', 400],
  ['/v1/things/a%5Cb', 400],
  ['/v1/things/a\\b', 400],
  ['/v1/things/a%00', 400],
  ['/v1/things/%0d%0a', 400],
  ['/v1/things/%zz', 400],
  ['/v1/things/%ff', 400],
  ['/v1/things/1#x', 400],
  ['/v1/things/1?a#x', 400],
  ['http://127.0.0.1/v1/things/1', 400],
  ['http://evil.example/v1/things/1', 400],
  ['*', 400],
  ['?x=1', 400],
])('the target %s answers %i', async (target, status) => {
  const reply = await get(target, own())
  expect(reply.status).toBe(status)
  if (status === 400) expect(codeOf(reply.body)).toBe('invalid_request')
})

describe('on the wire', () => {
  test.each([
    ['junk', 'hello\r\n\r\n', 400, 'invalid_request'],
    [
      'headers beyond the limit',
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(9000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'both lengths',
      'POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
      400,
      'invalid_request',
    ],
    ['half of the headers', 'GET / HTTP/1.1\r\nHos', 408, 'timeout'],
    ['a control character in the target', 'GET /v1/\u0001 HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
  ])('%s answers with the envelope and the connection ends', async (_what, bytes, status, code) => {
    const reply = await sendRaw(daemon.port, bytes)
    expect([reply.status, codeOf(reply.body), reply.headers.connection]).toEqual([status, code, 'close'])
  })

  test('a body that never comes ends in 408', async () => {
    const text = `POST /v1/runs HTTP/1.1\r\n${own()}\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"a`
    expect(await sendRaw(daemon.port, text)).toMatchObject({ status: 408 })
    await expect.poll(() => daemon.leases.out).toBe(0)
  })

  test('a stream hands its lease back while it goes on', async () => {
    const socket = await open(daemon.port, requestText('GET', '/v1/stream', [own()]))
    await expect.poll(() => daemon.leases.out).toBe(0)
    expect(socket.destroyed).toBe(false)
    socket.destroy()
  })
})

/** A connection after its first bytes came back. */
function open(port: number, text: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.once('data', () => resolve(socket))
    socket.once('error', reject)
  })
}

describe('stopping', () => {
  test('ends streams, lets a reply out, refuses new requests on open connections, and cuts the rest', async () => {
    const { front, port, app } = await bootFront([probe])
    const host = `Host: 127.0.0.1:${port}`
    const stream = await open(port, requestText('GET', '/v1/stream', [host]))
    const ended = new Promise(resolve => stream.once('close', resolve))
    const idle = await open(port, requestText('GET', '/v1/things/1', [host]))
    const waiting = sendRaw(port, requestText('GET', '/v1/wait', [host]))
    const busy = await open(port, requestText('GET', '/v1/stream', [host]))
    await waitArrives()
    let stopped = 0
    const closing = front.close(2000, async () => {
      stopped++
      stream.destroy()
      throw new Error('one that fails')
    })
    expect(front.isStopping).toBe(true)
    for (const end of waits) end()
    expect(await waiting).toMatchObject({ status: 200, body: '{"waited":true}' })
    await ended
    await closing
    expect(stopped).toBe(1)
    await expect
      .poll(() => [idle.destroyed || idle.readableEnded, busy.destroyed || busy.readableEnded])
      .toEqual([true, true])
    await expect(sendRaw(port, requestText('GET', '/healthz', [host]))).rejects.toThrow(/ECONNREFUSED/)
    await app.close()
  })

  test('does not wait for connections on which nothing, or only half a request, ever came', async () => {
    const { front, port, app } = await bootFront([probe])
    const sockets = await Promise.all(
      ['', 'GET /healthz HTTP/1.1\r\nHost: '].map(
        text =>
          new Promise<Socket>(resolve => {
            const socket = connect(port, '127.0.0.1', () => socket.write(text, () => resolve(socket)))
          }),
      ),
    )
    const closes = sockets.map(
      socket =>
        new Promise(resolve =>
          socket
            .resume()
            .on('error', () => undefined)
            .once('close', resolve),
        ),
    )
    await front.close(60_000)
    await Promise.all(closes)
    await app.close()
  })

  test.each([
    ['/v1/things/2', /503 Service Unavailable[\s\S]*connection: close[\s\S]*retry-after: 1[\s\S]*"unavailable"/i],
    ['/readyz', /503 Service Unavailable[\s\S]*connection: close[\s\S]*retry-after: 1[\s\S]*"not_ready"/i],
    ['/healthz', /200 OK[\s\S]*connection: close[\s\S]*"ok"/i],
  ])('on a connection that is still in use %s tells', async (path, answer) => {
    const { front, port, app } = await bootFront([probe])
    const host = `Host: 127.0.0.1:${port}`
    const socket = await open(port, requestText('GET', '/v1/things/1', [host]))
    let received = ''
    socket.on('data', chunk => {
      received += chunk
    })
    const ended = new Promise(resolve => socket.once('close', resolve))
    // A wait keeps the connection busy while the front stops; what comes behind it was sent too late.
    socket.write(requestText('GET', '/v1/wait', [host]))
    await waitArrives()
    const closing = front.close(20_000)
    socket.write(requestText('GET', path, [host]), () => waits[0]?.())
    await Promise.all([closing, ended])
    expect(received).toContain('{"waited":true}')
    expect(received.slice(received.indexOf('}'))).toMatch(answer)
    await app.close()
  })
})

describe('binding', () => {
  const frontFor = (addr: string, authDisabled = false, hasKeys = false) =>
    createFront({
      current: () => {
        throw new Error('not reached')
      },
      settings: () => ({ ...TEST_SETTINGS, addr, authDisabled }),
      hasKeys: () => hasKeys,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    })

  test.each([
    '0.0.0.0:0',
    '[::]:0',
    ':0',
    '0:0',
    '[::ffff:127.0.0.1]:0',
    '[::ffff:0.0.0.0]:0',
    'myhost:0',
    'localhost.:0',
    '127.1:0',
    '0x7f000001:0',
    '192.168.1.5:0',
    '[]:0',
    '[0:0:0:0:0:0:0:1]:0',
  ])('%s is refused without keys, and the message says what to do', async addr => {
    await expect(frontFor(addr).listen()).rejects.toThrow(
      /will not listen.*SVC_RUN_DB.*SVC_AUTH_DISABLED=true.*127\.0\.0\.1/,
    )
  })

  test.each(['', '8080', '::1:80', 'host:', '127.0.0.1:99999', '127.0.0.1:-1', 'a b:c'])('"%s" is no address', addr => {
    expect(() => parseBindAddress(addr)).toThrow(/is not of the form host:port/)
  })

  test('a public address is fine with keys, or with auth switched off by name', async () => {
    for (const front of [frontFor('0.0.0.0:0', true), frontFor('0.0.0.0:0', false, true)]) {
      const { url } = await front.listen()
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
      await front.close(10)
    }
  })

  test('a public address takes any IP literal as Host, no foreign name, and closes itself when the keys go', async () => {
    let hasKeys = true
    const daemon = await bootFront([probe], { settings: { addr: '0.0.0.0:0' }, hasKeys: () => hasKeys })
    const status = async (host: string) =>
      (await sendRaw(daemon.port, requestText('GET', '/healthz', [`Host: ${host}`]))).status
    expect(await status('192.168.7.9:80')).toBe(200)
    expect(await status('[fe80::1]:8080')).toBe(200)
    expect(await status('evil.example')).toBe(403)
    expect(await status('127.1')).toBe(403)
    hasKeys = false
    expect(await status('192.168.7.9:80')).toBe(503)
    await daemon.close()
  })

  test('a port in use is named plainly', async () => {
    await expect(frontFor(`127.0.0.1:${daemon.port}`).listen()).rejects.toThrow(/another program listens there/)
  })
})
