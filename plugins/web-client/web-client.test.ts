import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { WEB } from '#contracts/ports'
import type { WebRequest } from '#contracts/web'
import { describePlugin, openPlugin } from '#test/kit/index'
import { createAddressRules, isPublic, parseAllowList } from './address-rules.js'
import { Guard, type Resolve } from './guard.js'
import { GuardedWeb } from './guarded-web.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
})

/** A server on an address of this machine, with every request it got. */
async function serve(listener: RequestListener, host = '127.0.0.1') {
  const hits: IncomingMessage[] = []
  const server = createServer((request, response) => {
    hits.push(request)
    listener(request, response)
  })
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return { port, hits, url: `http://${host}:${port}` }
}

const says = (text: string) => (_: IncomingMessage, response: ServerResponse) => void response.end(text)
const webOf = (allowed: readonly string[], resolve: Resolve = async () => ['127.0.0.1']) =>
  new GuardedWeb(new Guard(async () => createAddressRules(allowed), resolve))
const ask = (url: string, more: Partial<WebRequest> = {}): WebRequest => ({
  url,
  timeoutMs: 5000,
  maxBytes: 10_000,
  ...more,
})
const never = new AbortController().signal
const text = (answer: unknown) => Buffer.from((answer as { body: Uint8Array }).body).toString()

describe('what is public', () => {
  test.each([
    ...['127.0.0.1', '127.9.9.9', '0.0.0.0', '10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['100.100.100.200', '168.63.129.16', '192.0.0.192', '198.18.0.1', '203.0.113.5', '224.0.0.1', '240.0.0.1'],
    ...[
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      '64:ff9b:1::1',
    ],
    ...[
      '2002:7f00:1::',
      '2001::1',
      'fe80::1',
      'fe80::1%lo',
      'fec0::1',
      'fc00::1',
      'fd00:ec2::254',
      'ff02::1',
      '2001:db8::1',
    ],
    ...['::ffff:0:7f00:1', '4000::1', 'localhost', '127.1', '0x7f.1', '2130706433', ''],
  ])('not %s', address => expect(isPublic(address)).toBe(false))
  test.each(['8.8.8.8', '1.1.1.1', '2606:4700::1', '::ffff:8.8.8.8'])('but %s', address =>
    expect(isPublic(address)).toBe(true),
  )
})

describe('the allow list', () => {
  test('opens hosts, addresses, ranges, and of each a single port', () => {
    const list = parseAllowList([
      'Intern.Example.',
      '10.0.0.0/8',
      '127.0.0.1:81',
      '[::1]:82',
      'fd00::/8',
      'one.test:83',
    ])
    expect([
      list.hasHost('intern.example', 80),
      list.hasHost('x.intern.example', 80),
      list.hasHost('one.test', 83),
      list.hasHost('one.test', 84),
      list.hasAddress('10.200.1.1', 1),
      list.hasAddress('::ffff:10.0.0.1', 1),
      list.hasAddress('11.0.0.1', 1),
      list.hasAddress('127.0.0.1', 81),
      list.hasAddress('127.0.0.1', 82),
      list.hasAddress('::1', 82),
      list.hasAddress('fdff::1', 5),
    ]).toEqual([true, false, true, false, true, true, false, true, false, true, true])
  })
  test.each(['', 'http://x', '10.0.0.0/33', '10.0.0/8', 'a b', 'host:0', 'host:99999', '*', '[x]', '-a', '::1/129'])(
    'refuses %j with a message that names the setting',
    entry => expect(() => parseAllowList([entry])).toThrow(/tools\.network_allowlist/),
  )
})

describe('targets nobody opened', () => {
  test('are not connected to, however they are written: the sentinel is never hit', async () => {
    const sentinel = await serve(says('secret'))
    const v6 = await serve(says('secret'), '::1').catch(() => undefined)
    const { port } = sentinel
    const web = webOf([])
    const urls = [
      ...[
        '127.0.0.1',
        'localhost',
        '127.1',
        '0x7f.0.0.1',
        '0177.0.0.1',
        '2130706433',
        '017700000001',
        '127.0.0.1.',
        '0',
      ],
      ...[
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[::127.0.0.1]',
        '[64:ff9b::7f00:1]',
        '①②⑦.0.0.1',
        '127。0。0。1',
        'LOCALHOST.',
      ],
      ...[
        'user@127.0.0.1',
        'example.com@127.0.0.1',
        'a:b@127.0.0.1',
        '127.0.0.1\t',
        '127.0.0.1%00.example.com',
        'a%00b',
      ],
    ].map(host => `http://${host}:${port}/`)
    const odd = [
      ...[
        `http:\\\\127.0.0.1:${port}/`,
        `http:/127.0.0.1:${port}/`,
        `HTTP://127.0.0.1:${port}/`,
        `//127.0.0.1:${port}/`,
      ],
      ...[`http://127.0.0.1\0.example.com:${port}/`, `http://\n127.0.0.1:${port}/`, `ftp://127.0.0.1:${port}/`],
      ...[
        'file:///etc/passwd',
        'gopher://127.0.0.1:70/',
        'data:text/plain,x',
        'javascript:1',
        'unix:/run/x',
        'blob:http://x/1',
      ],
      ...[
        '',
        'x',
        'http://',
        'http:///',
        `https://127.0.0.1:${port}/`,
        `http://[::1]:${v6?.port ?? 1}/`,
        'http://[fe80::1%25lo]/',
      ],
      ...[
        'http://169.254.169.254/latest/meta-data/',
        'http://metadata.internal/',
        'http://0.0.0.0:1/',
        `http://${'a'.repeat(9000)}/`,
      ],
      ...['http://0x08080808/', 'http://134744072/'],
    ]
    const answers = await Promise.all([...urls, ...odd].map(url => web.exchange(ask(url), never)))
    expect(answers.filter(({ kind }) => kind !== 'refused')).toEqual([])
    const codes = answers.map(answer => answer.kind === 'refused' && answer.code)
    expect(codes.filter(code => code !== 'invalid_url' && code !== 'forbidden_address')).toEqual([])
    await Promise.all(
      [...urls, ...odd].map(url =>
        web.fetch(url).then(
          () => expect(url).toBe('refused'),
          () => undefined,
        ),
      ),
    )
    expect((await Promise.all([...urls, ...odd].map(url => web.check(url)))).filter(refusal => !refusal)).toEqual([])
    expect([sentinel.hits.length, v6?.hits.length ?? 0]).toEqual([0, 0])
    await web.close()
  })

  test('a name that stands for a public and a private address is refused', async () => {
    const sentinel = await serve(says('secret'))
    const web = webOf([], async () => ['93.184.216.34', '127.0.0.1'])
    const answer = await web.exchange(ask(`http://rebind.test:${sentinel.port}/`), never)
    expect([answer, sentinel.hits.length]).toMatchObject([{ kind: 'refused', code: 'forbidden_address' }, 0])
  })

  test('a name that changes its address between check and connection leads to the checked one or nowhere', async () => {
    const sentinel = await serve(says('secret'), '127.0.0.3')
    const honest = await serve(says('honest'))
    let asked = 0
    const web = webOf(['127.0.0.1'], async () => (asked++ % 2 === 0 ? ['127.0.0.1'] : ['127.0.0.3']))
    for (let round = 0; round < 20; round++) {
      const url = `http://rebind.test:${round % 2 ? sentinel.port : honest.port}/`
      await web.check(url)
      await web.exchange(ask(url), never)
    }
    expect(sentinel.hits).toEqual([])
  })

  test('each redirect is checked: to another address, scheme, form', async () => {
    const sentinel = await serve(says('secret'), '127.0.0.2')
    const to = [
      ...[sentinel.url, `//127.0.0.2:${sentinel.port}/`, `http://0x7f000002:${sentinel.port}/`, 'file:///etc/passwd'],
      ...[`http://u:p@127.0.0.2:${sentinel.port}/`, `http://[::ffff:127.0.0.2]:${sentinel.port}/`, 'ftp://127.0.0.2/'],
    ]
    const { url } = await serve(
      ({ url: path = '' }, response) =>
        void response.writeHead(302, { location: to[Number(path.slice(1))] ?? '' }).end(),
    )
    const web = webOf(['127.0.0.1'])
    const answers = await Promise.all(to.map((_, index) => web.exchange(ask(`${url}/${index}`), never)))
    expect(answers.map(({ kind }) => kind)).toEqual(to.map(() => 'refused'))
    expect(sentinel.hits).toEqual([])
  })
})

describe('an exchange', () => {
  test('answers with status, headers and body, and proves the name it asked for', async () => {
    const { port, hits } = await serve((_, response) => void response.writeHead(404, { 'x-a': 'b' }).end('gone'))
    const answer = await webOf(['opened.test']).exchange(ask(`http://opened.test:${port}/a?b=c#d`), never)
    expect([answer, text(answer)]).toMatchObject([
      { kind: 'answered', status: 404, headers: { 'x-a': 'b' }, isTruncated: false },
      'gone',
    ])
    expect([hits[0]?.url, hits[0]?.headers.host]).toEqual(['/a?b=c', `opened.test:${port}`])
  })

  test('follows five redirects and not six', async () => {
    const { url } = await serve(({ url: path = '' }, response) => {
      const left = Number(path.slice(1))
      if (left === 0) response.end('there')
      else response.writeHead(302, { location: `/${left - 1}` }).end('x'.repeat(100_000))
    })
    const web = webOf(['127.0.0.1'])
    expect(text(await web.exchange(ask(`${url}/5`), never))).toBe('there')
    expect(await web.exchange(ask(`${url}/10`), never)).toMatchObject({ code: 'too_many_redirects' })
  })

  test('a redirect to another origin gets no credentials, one within does', async () => {
    const seen: unknown[] = []
    const other = await serve(({ headers }, response) => {
      seen.push([headers.authorization, headers['x-fine']])
      response.end()
    })
    const { url } = await serve(({ url: path, headers }, response) => {
      seen.push([headers.authorization, headers['x-fine']])
      response.writeHead(307, { location: path === '/' ? '/again' : other.url }).end()
    })
    const headers = { Authorization: 'Bearer secret', cookie: 'a=b', 'x-fine': '1' }
    await webOf(['127.0.0.1']).exchange(ask(url, { headers }), never)
    expect(seen).toEqual([
      ['Bearer secret', '1'],
      ['Bearer secret', '1'],
      [undefined, '1'],
    ])
    expect(other.hits[0]?.headers.cookie).toBeUndefined()
  })

  test('an endless body is cut at the limit and its connection ended', async () => {
    let isOpen = false
    const { url } = await serve((_, response) => {
      isOpen = true
      const more = () => response.destroyed || response.write(Buffer.alloc(64 * 1024, 120), () => setImmediate(more))
      response.on('close', () => (isOpen = false))
      more()
    })
    const answer = await webOf(['127.0.0.1']).exchange(ask(url, { maxBytes: 100_000 }), never)
    expect([text(answer).length, (answer as { isTruncated: boolean }).isTruncated]).toEqual([100_000, true])
    await expect.poll(() => isOpen).toBe(false)
  })

  test.each(['gzip', 'br'])('a %s bomb costs no more than the limit', async encoding => {
    const zeros = Buffer.alloc(100 * 1024 * 1024)
    const bomb =
      encoding === 'br'
        ? brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
        : gzipSync(zeros, { level: 1 })
    const { url } = await serve(
      (_, response) => void response.writeHead(200, { 'content-encoding': encoding }).end(bomb),
    )
    const before = process.memoryUsage().rss
    const answer = await webOf(['127.0.0.1']).exchange(ask(url, { maxBytes: 1_000_000 }), never)
    expect(answer).toMatchObject({ isTruncated: true, body: { length: 1_000_000 } })
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * 1024 * 1024)
  })

  test('unpacks one layer; stacked, unknown, damaged and never-ending ones are refused', async () => {
    const empty = gzipSync('')
    const { url } = await serve(({ url: path }, response) => {
      const send = (encoding: string, body: Uint8Array) =>
        void response.writeHead(200, { 'content-encoding': encoding }).end(body)
      if (path === '/one') send('gzip', gzipSync('fine'))
      else if (path === '/two') send('gzip, gzip', gzipSync(gzipSync('x')))
      else if (path === '/unknown') send('zstd', Buffer.from('x'))
      else if (path === '/damaged') send('gzip', Buffer.from('no gzip at all'))
      else send('gzip', Buffer.concat(Array.from({ length: 50_000 }, () => empty)))
    })
    const web = webOf(['127.0.0.1'])
    expect(text(await web.exchange(ask(`${url}/one`), never))).toBe('fine')
    for (const path of ['two', 'unknown', 'damaged', 'empties'])
      expect(await web.exchange(ask(`${url}/${path}`), never)).toMatchObject({ kind: 'refused', code: 'bad_encoding' })
  })

  test('a slow drip, silent headers and a mute peer all end at the time limit', async () => {
    const { url } = await serve(({ url: path }, response) => {
      if (path !== '/drip') return
      const timer = setInterval(() => response.write('.'), 20)
      response.on('close', () => clearInterval(timer))
    })
    const web = webOf(['127.0.0.1'])
    const started = performance.now()
    for (const path of ['drip', 'mute'])
      expect(await web.exchange(ask(`${url}/${path}`, { timeoutMs: 300 }), never)).toMatchObject({ code: 'timeout' })
    expect(performance.now() - started).toBeLessThan(20_000)
  })

  test('an abort throws at once', async () => {
    const { url } = await serve(() => undefined)
    const abort = new AbortController()
    const asked = webOf(['127.0.0.1']).exchange(ask(url), abort.signal)
    setImmediate(() => abort.abort(new Error('cancelled')))
    await expect(asked).rejects.toThrow('cancelled')
  })

  test('nobody there is told without the address behind the name', async () => {
    const { port } = await serve(says(''))
    servers.pop()?.close()
    const answer = await webOf(['gone.test']).exchange(ask(`http://gone.test:${port}/`), never)
    expect(answer).toMatchObject({ code: 'unreachable', message: expect.stringContaining('ECONNREFUSED') })
    expect(JSON.stringify(answer)).not.toContain('127.0.0.1')
  })
})

test('fetch streams from an opened address and hands a redirect over instead of following it', async () => {
  const { url } = await serve(({ url: path }, response) =>
    path === '/away'
      ? void response.writeHead(302, { location: 'http://127.0.0.2/' }).end()
      : void response.end('hello'),
  )
  const web = webOf(['127.0.0.1'])
  expect(await (await web.fetch(url)).text()).toBe('hello')
  expect((await web.fetch(`${url}/away`)).status).toBe(302)
  await web.close()
})

test('a wrong entry of the allow list refuses the plugin and names the setting', async () => {
  await expect(openPlugin(plugin, { config: { network_allowlist: ['http://x'] } })).rejects.toThrow(/network_allowlist/)
  const opened = await openPlugin(plugin, { config: { network_allowlist: ['localhost'] } })
  expect(opened.port(WEB)).toBeDefined()
  await opened.close()
})
