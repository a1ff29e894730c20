import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { testEnvironment } from '#kernel/cli/testing/test-environment'
import { type Booted, type BootOptions, boot } from './kit/boot.js'
import { startChatServer } from './kit/chat-server.js'

const ROOT = resolve(import.meta.dirname, '../..')
const EXAMPLES = join(ROOT, 'examples')

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function booted(options: BootOptions): Promise<Booted> {
  const daemon = await boot(options)
  undo.push(daemon.stop)
  return daemon
}

async function temporary(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'runwright-examples-'))
  undo.push(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const withTurns = (file: string, settings: BootOptions['settings'] = {}): BootOptions => ({
  settings: { fake_turns: join(EXAMPLES, 'fake-turns', file), ...settings },
})

/** Runs a program to its end; a failing one is a result like any other. */
const program = (file: string, args: readonly string[], env: Readonly<Record<string, string>>) =>
  new Promise<{ readonly code: number; readonly out: string; readonly err: string }>(done => {
    execFile(file, args, { cwd: ROOT, env: { PATH: process.env.PATH ?? '', ...env } }, (error, out, err) =>
      done({ code: error ? Number(error.code ?? 1) : 0, out, err }),
    )
  })

test('npm run demo shows a run with tool calls to its end and leaves nothing behind', async () => {
  const dir = await temporary()
  const script = `import { main } from './dist/examples/demo.js'; process.exitCode = await main()`
  const { code, out, err } = await program(process.execPath, ['--input-type=module', '-e', script], { TMPDIR: dir })
  expect({ code, err, left: await readdir(dir) }).toEqual({ code: 0, err: '', left: [] })
  expect(out).toMatch(/→ write {2}greet\.sh\n( {2}│ \+.*\n)+✓ \d+ ms/)
  expect(out).not.toContain('✗')
  expect(out).toContain('✓ completed · 3 steps')
  expect(out).toContain('OPENAI_API_KEY')
})

test('the command line against a real daemon: run, list, attach, wrong run', async () => {
  const { url } = await booted({ isDurable: true, ...withTurns('hello.json') })
  const cli = (...argv: string[]) => testEnvironment({ baseUrl: url }).run(...argv)
  const run = await cli('run', 'Hello', '--allow-fallback')
  expect(run).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Hello! I am a scripted model') })
  const [id = ''] = run.out.split('\n')
  expect((await cli('runs', 'ls')).out).toContain(`${id}  completed`)
  expect(await cli('attach', id)).toEqual(run)
  expect((await cli('attach', id, '-q')).out).toBe('Hello! I am a scripted model: every answer stands in a file.\n')
  expect((await cli('plugin', 'ls')).out).toContain('GET /v1/runs/:id/events')
  expect(await cli('attach', 'run_nobody')).toMatchObject({ code: 1, err: expect.stringContaining('not_found') })
})

test('the walk-through runs from its first command to its last', async () => {
  const { url } = await booted({ isDurable: true, ...withTurns('demo.json') })
  const bin = await temporary()
  const env = { SVC_URL: url, PATH: await pathWithCurl(bin) }
  const { code, out, err } = await program('sh', [join(EXAMPLES, 'walkthrough.sh')], env)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const [first, again, ...others] = out.match(/"run_id":"run_[^"]+"/g) ?? []
  expect({ isSame: first === again, others: others.length }).toEqual({ isSame: true, others: 2 })
  expect(out.match(/^id: \S+/gm)?.map(line => line.split(':').at(-1))).toEqual(['4', '5'])
  expect(out).toContain('event: run.completed')
  expect(out.match(/"status":"cancelling"/g)).toHaveLength(2)
  expect(out).toContain('"code":"invalid_request"')
})

test('the streaming client shows everything once, though its connections are cut', async () => {
  const proxy = await openCuttingProxy([3000, 5000, 2500])
  const { daemon } = await booted(withTurns('demo.json', { allowed_hosts: [new URL(proxy.url).host] }))
  proxy.leadTo(daemon.port)
  const client = join(EXAMPLES, 'streaming-client.mjs')
  const { code, out, err } = await program(process.execPath, [client, 'Greet me', proxy.url], {})
  expect({ code, cuts: proxy.cuts() }).toEqual({ code: 0, cuts: 3 })
  expect(out).toBe(
    "I'll write a small program that greets by name.Now I run it, to see that it works.Done. `greet.sh` greets whoever you name, and the world when you name nobody.\n",
  )
  expect(err).toContain('resuming after run_')
})

describe('the plugins, from their TypeScript folders', () => {
  test('the tool plugin gives a run its tool', async () => {
    const turns = [
      { tool_calls: [{ name: 'working_days', arguments: { from: '2026-12-21', to: '2026-12-27' } }] },
      { content: 'five' },
    ]
    const { run } = await booted({ turns, settings: { plugin_dirs: [join(EXAMPLES, 'tool-plugin')] } })
    const completed = (await run('How many?')).find(({ type }) => type === 'tool.call.completed')
    expect(completed?.payload?.output).toBe('{"working_days":5}')
  })

  const PROVIDERS = { provider: '', plugin_dirs: [join(EXAMPLES, 'provider-plugin')] }

  test('a provider with a wire of its own is found by an alias, and priced', async () => {
    const { run, request } = await booted({ settings: PROVIDERS })
    const events = await run({ prompt: 'Polly wants a cracker', model: 'polly' })
    expect(events.at(-1)).toMatchObject({
      type: 'run.completed',
      payload: {
        output: 'Polly wants a cracker',
        cost_totals: { cost_usd_total: 0.0000012, cost_status: 'available' },
      },
    })
    expect((await request('GET', '/v1/providers?check=true')).body.providers).toContainEqual(
      expect.objectContaining({ name: 'parrot', configured: true, health: 'ok' }),
    )
  })

  test('a provider that is only data is asked over the wire it names, with its own key', async () => {
    const server = await startChatServer({ turns: [{ text: 'Up it goes.' }] })
    undo.push(() => server.close())
    const { run, request } = await booted({
      settings: PROVIDERS,
      environment: { ACME_API_KEY: 'acme-key', ACME_BASE_URL: server.baseUrl },
    })
    expect((await run({ prompt: 'Launch', model: 'rocket' })).at(-1)).toMatchObject({
      type: 'run.completed',
      payload: { output: 'Up it goes.', cost_totals: { cost_usd_total: 0.0000125 } },
    })
    const [call] = server.calls
    expect([call?.headers.authorization, call?.body?.model]).toEqual(['Bearer acme-key', 'rocket-2'])
    expect((await request('GET', '/v1/models')).body.models).toContainEqual(
      expect.objectContaining({ id: 'rocket-2', provider: 'acme', aliases: ['rocket'], input_cost_per_mtok: 0.5 }),
    )
  })
})

/** Lets connections through to a port, and cuts those that carry much, after so many bytes each. */
async function openCuttingProxy(cutAfter: number[]) {
  let port = 0
  let cuts = 0
  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    let bytes = 0
    const [limit] = cutAfter
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (limit === undefined || bytes <= limit) return client.write(chunk)
      cutAfter.splice(cutAfter.indexOf(limit), 1)
      cuts += 1
      client.write(chunk.subarray(0, chunk.length - (bytes - limit)), () => client.destroy())
      return upstream.destroy()
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  undo.push(() => new Promise(done => server.close(done)))
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    cuts: () => cuts,
    leadTo: (target: number) => {
      port = target
    },
  }
}

/** A PATH on which `curl` is found: the machine's own, or one that knows the options of the walk-through. */
async function pathWithCurl(dir: string): Promise<string> {
  const path = process.env.PATH ?? ''
  const { code } = await program('sh', ['-c', 'command -v curl'], {})
  if (code === 0) return path
  await mkdir(dir, { recursive: true })
  const file = join(dir, 'curl')
  await writeFile(file, `#!${process.execPath}\n${CURL}`)
  await chmod(file, 0o755)
  return `${dir}:${path}`
}

const CURL = `
const headers = {}
let url, body, method, isFailing = false
for (let words = process.argv.slice(2), word = words.shift(); word !== undefined; word = words.shift()) {
  if (word === '-H') { const [, name, value] = /^([^:]+): ?(.*)$/.exec(words.shift()); headers[name] = value }
  else if (word === '-d') body = words.shift()
  else if (word === '-X') method = words.shift()
  else if (word === '--fail-with-body') isFailing = true
  else if (!word.startsWith('-')) url = word
}
fetch(url, { headers, body, method: method ?? (body === undefined ? 'GET' : 'POST') }).then(async answer => {
  for await (const chunk of answer.body ?? []) process.stdout.write(chunk)
  if (isFailing && !answer.ok) process.exitCode = 22
})
`
