import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PluginManifest } from '#contracts/plugin'
import { WEB, WORKSPACE_FILES } from '#contracts/ports'
import type { SandboxPolicy } from '#contracts/sandbox'
import { boot } from '#test/kit/boot'
import { describePlugin, type OpenPlugin, openPlugin } from '#test/kit/index'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

// Loaded by path, as the plugin host does; plugins do not import each other.
const provider = async (name: string, config: object = {}) => {
  const path = new URL(`../${name}/index.js`, import.meta.url).href
  return openPlugin(((await import(path)) as { plugin: PluginManifest }).plugin, { config })
}

const PAGES: Readonly<Record<string, readonly [type: string, body: string | Buffer, status?: number]>> = {
  '/article': [
    'text/html; charset=utf-8',
    `<html><head><title>On Ships</title><script>alert(1)</script></head><body><nav><a href="/x">Menu</a></nav><article><h1>On Ships</h1>
     ${'<p>A ship is a large <b>vessel</b> that travels the seas, and <a href="/more?a=1">more</a> of them is a fleet.</p>'.repeat(8)}
     <a href="javascript:steal()">no</a></article></body></html>`,
  ],
  '/small': ['text/html', '<h1>Hi</h1><p>there</p><style>p{}</style>'],
  '/json': ['application/json', '{"a":"ä"}'],
  '/latin': ['text/plain; charset=iso-8859-1', Buffer.from([0x67, 0xfc, 0x74])],
  '/binary': ['application/octet-stream', Buffer.from([0, 1, 2, 3])],
  '/deep': ['text/html', '<div>'.repeat(200_000)],
  '/vast': [
    'text/html',
    `<title>Vast</title><p>first</p>${'<p>One of <a href="/x">many</a>, <b>many</b> more.</p>'.repeat(20_000)}`,
  ],
  '/heavy': ['text/html', `<title>Heavy</title><script>${'x()'.repeat(800_000)}</script><h1>the text</h1>`],
  '/long': ['text/plain', 'ä'.repeat(1000)],
  '/gone': ['text/plain', 'nothing here', 404],
}
const answer: RequestListener = ({ url = '' }, response) => {
  const [type, body, status = 200] = PAGES[url] ?? ['text/plain', '', 404]
  response.writeHead(status, { 'content-type': type }).end(body)
}

let server: Server
let base = ''
let root = ''
let open: readonly OpenPlugin[] = []
let tools: OpenPlugin
let hasty: OpenPlugin
beforeAll(async () => {
  server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  root = realpathSync(mkdtempSync(join(tmpdir(), 'web-tools-')))
  const [web, files] = [
    await provider('web-client', { network_allowlist: ['127.0.0.1'] }),
    await provider('workspace-files'),
  ]
  const opened = (conversion_timeout_ms: number) =>
    openPlugin(plugin, {
      config: { conversion_timeout_ms },
      ports: [
        [WEB, web.port(WEB)],
        [WORKSPACE_FILES, files.port(WORKSPACE_FILES)],
      ],
    })
  // A large page takes a second, and twenty on a machine that does much else.
  tools = await opened(50_000)
  hasty = await opened(1_000)
  open = [tools, hasty, web, files]
})
afterAll(async () => {
  for (const each of open) await each.close()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  rmSync(root, { recursive: true })
})

async function call(tool: string, args: object, access: Partial<SandboxPolicy> = {}, by = tools) {
  const workspace = { root, extraDirs: [] }
  const policy = { scope: 'workspace', network: 'allow', hiddenPaths: [], ...workspace, ...access } as SandboxPolicy
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  return (await by.call(tool, args, { workspace, sandboxPolicy: async () => policy })) as any
}

describe('fetch', () => {
  test('returns text as it came, in the charset it says', async () => {
    expect((await call('fetch', { url: `${base}/json` })).output).toEqual({
      url: `${base}/json`,
      status_code: 200,
      content_type: 'application/json',
      content: '{"a":"ä"}',
      truncated: false,
    })
    expect((await call('fetch', { url: `${base}/latin` })).output.content).toBe('güt')
    expect((await call('fetch', { url: `${base}/gone` })).output).toMatchObject({
      status_code: 404,
      content: 'nothing here',
    })
  })
  test('cuts at max_bytes between characters', async () => {
    expect((await call('fetch', { url: `${base}/long`, max_bytes: 101 })).output).toMatchObject({ truncated: true })
    const { content } = (await call('fetch', { url: `${base}/article`, format: 'markdown', max_bytes: 33 })).output
    expect(content.length).toBeLessThan(34)
  })
  test('refuses what is not text', async () => {
    expect(await call('fetch', { url: `${base}/binary` })).toMatchObject({ error: { code: 'not_text' } })
  })
})

describe('web_fetch', () => {
  test('returns the article as Markdown, links absolute, without scripts and menus', async () => {
    const { title, content } = (await call('web_fetch', { url: `${base}/article` })).output
    expect(title).toBe('On Ships')
    expect(content).toContain(
      `A ship is a large **vessel** that travels the seas, and [more](${base}/more?a=1) of them`,
    )
    expect(content).not.toMatch(/alert|Menu|javascript/)
  })
  test('returns all of a page that is no article', async () => {
    expect((await call('web_fetch', { url: `${base}/small` })).output.content).toBe('# Hi\n\nthere')
  })
  test('reads the beginning of a page of 60,000 elements', async () => {
    const { title, content, truncated } = (await call('web_fetch', { url: `${base}/vast` })).output
    expect([title, truncated]).toEqual(['Vast', true])
    expect(content).toMatch(/^first\n\nOne of \[many\]/)
  })
  test('finds the text behind 2.4 MB of scripts', async () => {
    expect((await call('web_fetch', { url: `${base}/heavy` })).output.content).toBe('# the text')
  })
  test('a page that no parser survives is told as such, and the daemon goes on meanwhile', async () => {
    let ticks = 0
    const timer = setInterval(() => ticks++, 20)
    const result = await call('web_fetch', { url: `${base}/deep` }, {}, hasty)
    clearInterval(timer)
    expect(result).toMatchObject({ error: { code: 'not_readable' } })
    expect(ticks).toBeGreaterThan(1)
  })
})

describe('download', () => {
  test('writes the bytes and tells the version', async () => {
    const { output } = await call('download', { url: `${base}/binary`, file_path: 'in/file.bin' })
    expect(output).toMatchObject({ file_path: 'in/file.bin', bytes_written: 4, status_code: 200, truncated: false })
    expect([...readFileSync(join(root, 'in/file.bin'))]).toEqual([0, 1, 2, 3])
    expect(output.version).toMatch(/^[0-9a-f]+$/)
  })
  test('leaves the old file alone when the answer is no success', async () => {
    writeFileSync(join(root, 'old'), 'old')
    expect(await call('download', { url: `${base}/gone`, file_path: 'old' })).toMatchObject({
      error: { code: 'http_status' },
    })
    expect(readFileSync(join(root, 'old'), 'utf8')).toBe('old')
  })
  test.each(['../out', '/etc/x', '.git/hooks/pre-commit'])(
    'does not ask for what may not be written: %s',
    async file_path => {
      let hits = 0
      server.once('request', () => hits++)
      expect(await call('download', { url: `${base}/json`, file_path })).toMatchObject({
        error: { code: expect.any(String) },
      })
      server.removeAllListeners('request')
      server.on('request', answer)
      expect(hits).toBe(0)
    },
  )
  test('writes nothing in a read-only run', async () => {
    const result = await call('download', { url: `${base}/json`, file_path: 'a' }, { isReadOnly: true })
    expect(result).toMatchObject({ error: { code: 'read_only' } })
  })
})

test.each(['fetch', 'web_fetch', 'download'])(
  '%s is refused where the run has no network, and by the guard',
  async tool => {
    let hits = 0
    server.on('request', () => hits++)
    const args = { url: `${base}/json`, ...(tool === 'download' && { file_path: 'x' }) }
    expect(await call(tool, args, { network: 'deny' })).toMatchObject({ error: { code: 'network_denied' } })
    expect(hits).toBe(0)
    expect(await call(tool, { ...args, url: 'http://169.254.169.254/' })).toMatchObject({
      error: { code: 'forbidden_address' },
    })
  },
)

test('a daemon fetches a page for a run: found, activated, read, from its staged copy', async () => {
  const select = { name: 'find_tool', arguments: { query: 'web page' } }
  const read = { name: 'web_fetch', arguments: { url: `${base}/article` } }
  const get = { name: 'download', arguments: { url: `${base}/json`, file_path: 'got.json' } }
  const live = await boot({
    turns: [{ tool_calls: [select] }, { tool_calls: [read, get] }, { content: 'done' }],
    settings: { 'tools.network_allowlist': ['127.0.0.1'] },
  })
  const outputs = (await live.run('go'))
    .filter(({ type }) => type === 'tool.call.completed')
    .map(({ payload }) => payload?.output)
  expect(outputs[1]).toContain('A ship is a large **vessel**')
  expect(readFileSync(join(live.workspace, 'got.json'), 'utf8')).toBe('{"a":"ä"}')
  await live.stop()
})

test('without the web client there are no web tools, without workspace files no download', async () => {
  const none = await openPlugin(plugin)
  const some = await openPlugin(plugin, { ports: [[WEB, {}]] })
  expect([[...none.tools.keys()], [...some.tools.keys()]]).toEqual([[], ['fetch', 'web_fetch']])
  await none.close()
  await some.close()
})
