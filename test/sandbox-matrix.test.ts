import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'
import { outsideAddress } from '#test/kit/outside-address'

/**
 * What `permissions.sandbox` and `permissions.network` of a request come to, through real runs over HTTP. The folder of
 * the sandbox plugin tries the ways out one by one; here the whole daemon stands between the wish and the command.
 */

const KEY = 'sk-matrix-canary-0123456789'
let live: Booted
let model: ChatServer
let listener: Server
let outside = ''
let hits = 0
let port = 0
let args: Readonly<Record<string, unknown>> = {}

beforeAll(async () => {
  // Beside this file: a temporary directory is something else in a sandbox.
  outside = mkdtempSync(join(import.meta.dirname, 'matrix-'))
  writeFileSync(join(outside, 'victim'), 'untouched')
  listener = createServer(socket => {
    hits++
    socket.on('error', () => undefined).end()
  })
  await new Promise<void>(done => listener.listen(0, done))
  const address = listener.address()
  port = typeof address === 'object' && address ? address.port : 0
  model = await startChatServer({
    respond: ({ body }) =>
      ((body?.messages ?? []) as { role: string }[]).some(({ role }) => role === 'tool')
        ? { text: 'done' }
        : { toolCalls: [{ id: 'c', name: 'bash', arguments: args }] },
  })
  process.env.MATRIX_SECRET = KEY
  const configFile = join(outside, 'config.toml')
  writeFileSync(configFile, `[plugins.bubblewrap]\nhost_services = ["${outsideAddress()}:${port}"]\n`)
  live = await boot({ modelUrl: model.baseUrl, isDurable: true, environment: { OPENAI_API_KEY: KEY }, configFile })
  writeFileSync(join(live.workspace, '.runwright/keys'), 'STATE-CANARY')
})
afterAll(async () => {
  delete process.env.MATRIX_SECRET
  await live.stop()
  await model.close()
  listener.close()
  rmSync(outside, { recursive: true, force: true })
})

interface Answer {
  readonly output?: string
  readonly exit_code?: number
  readonly error?: string
  readonly sandbox?: object
  readonly shell_id?: string
}

/** Runs one command in a run of its own and returns what the tool answered. */
async function bash(script: string, draft: object = {}, daemon = live, more: object = {}) {
  args = { command: script, ...more }
  const events = await daemon.run({ prompt: 'go', ...draft })
  const done = events.find(({ type }) => type === 'tool.call.completed')
  return JSON.parse(done?.payload?.output) as Answer
}

const NODE = (code: string) => `node -e '${code}'`
const LISTENER = () =>
  NODE(
    `require("net").connect(${port},"${outsideAddress()}").on("connect",()=>process.exit()).on("error",()=>process.exit())`,
  )
const API = () => NODE(`fetch("${live.url}/healthz").then(r=>console.log("API",r.status),()=>console.log("closed"))`)

interface Cell {
  readonly outside: boolean
  readonly network: boolean
  /** The daemon's own interface. */
  readonly api: boolean
  readonly state: boolean
}

const MATRIX: readonly (readonly [string, string, Cell])[] = [
  ['workspace', 'allow', { outside: false, network: true, api: false, state: false }],
  ['workspace', 'deny', { outside: false, network: false, api: false, state: false }],
  ['local', 'allow', { outside: true, network: true, api: false, state: false }],
  ['local', 'deny', { outside: true, network: false, api: false, state: false }],
  ['unrestricted', 'allow', { outside: true, network: true, api: true, state: true }],
  ['unrestricted', 'deny', { outside: true, network: true, api: true, state: true }],
]

describe.each(MATRIX)('sandbox %s, network %s', (sandbox, network, cell) => {
  const permissions = { sandbox, network }

  test('the workspace is written, and the answer says what held', async () => {
    const answer = await bash('echo in >inside.txt', { permissions })
    expect(answer).toMatchObject({ exit_code: 0, sandbox: { scope: sandbox, network } })
    expect(readFileSync(join(live.workspace, 'inside.txt'), 'utf8')).toBe('in\n')
  })

  test(`outside is ${cell.outside ? 'written' : 'not written'}`, async () => {
    rmSync(join(outside, 'new'), { force: true })
    await bash(`echo x >"${outside}/new"`, { permissions })
    expect(existsSync(join(outside, 'new'))).toBe(cell.outside)
  })

  test(`the network is ${cell.network ? '' : 'not '}reached, the daemon’s own interface is ${cell.api ? '' : 'not'}`, async () => {
    const before = hits
    const { output } = await bash(`${LISTENER()}; ${API()}`, { permissions })
    expect([hits - before, output?.includes('API 200')]).toEqual([cell.network ? 1 : 0, cell.api])
  })

  test(`a server in the background is${cell.network ? '' : ' not'} there for the next run`, async () => {
    const serve = NODE(
      `require("net").createServer(s=>s.end("still here")).listen(0,"127.0.0.1",function(){console.log("up",this.address().port)})`,
    )
    const { shell_id } = await bash(serve, { permissions }, live, { run_in_background: true })
    const said = async () => String((await live.request('GET', `/v1/jobs/${shell_id}/output`)).body.output)
    await expect.poll(said).toMatch(/^up \d+\n/)
    const [, at] = (await said()).split(/\s/)
    const call = NODE(
      `require("net").connect(${at},"127.0.0.1").on("data",d=>console.log(""+d)).on("error",()=>process.exit())`,
    )
    const { output } = await bash(call, { permissions })
    await live.request('POST', `/v1/jobs/${shell_id}/kill`)
    expect(output?.includes('still here')).toBe(cell.network)
  })

  test(`the daemon’s state is ${cell.state ? 'seen' : 'hidden'}, its secrets are not to be had`, async () => {
    const { output } = await bash(`cat .runwright/keys ../runs.db; cat /proc/*/environ /proc/1/cmdline; env`, {
      permissions,
    })
    expect([output?.includes('STATE-CANARY'), output?.includes(KEY), output?.includes('SQLite format')]).toEqual([
      cell.state,
      false,
      cell.state,
    ])
  })

  test('nothing the command started is left when it returns', async () => {
    const mark = `86${Math.floor(Math.random() * 1e6)}`
    await bash(`(setsid sleep ${mark} & disown) ; sleep ${mark} & nohup sleep ${mark} >/dev/null 2>&1 & true`, {
      permissions,
    })
    expect(sleeping(mark)).toEqual([])
  })

  test('nor when its run is cancelled', async () => {
    const mark = `87${Math.floor(Math.random() * 1e6)}`
    args = { command: `setsid sleep ${mark} & sleep ${mark}` }
    const id = await live.start({ prompt: 'go', permissions })
    await expect.poll(() => sleeping(mark).length).toBeGreaterThan(0)
    await live.request('POST', `/v1/runs/${id}/cancel`)
    await live.events(id)
    expect(sleeping(mark)).toEqual([])
  })
})

/** Processes of this machine that sleep for so many seconds. */
const sleeping = (seconds: string): readonly string[] =>
  readdirSync('/proc').filter(name => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8') === `sleep\0${seconds}\0`
    } catch {
      return false
    }
  })

describe.each(['workspace', 'local', 'unrestricted'])('plan mode over sandbox %s', sandbox => {
  const draft = { plan_mode: true, permissions: { sandbox, network: 'allow', unattended: 'deny' } }

  test('nothing is written but the plan file, nothing is reached', async () => {
    rmSync(join(live.workspace, '.runwright/plan.md'), { force: true })
    rmSync(join(outside, 'new'), { force: true })
    const before = hits
    const script = `echo p >.runwright/plan.md; echo x >planned.txt; echo x >"${outside}/new"; ${LISTENER()}; ${API()}; cat .runwright/keys`
    const { output, sandbox: held } = await bash(script, draft)
    expect([held, hits - before, output?.includes('API 200'), output?.includes('STATE-CANARY')]).toEqual([
      { scope: 'workspace', network: 'deny' },
      0,
      false,
      false,
    ])
    expect([existsSync(join(live.workspace, 'planned.txt')), existsSync(join(outside, 'new'))]).toEqual([false, false])
    expect(readFileSync(join(live.workspace, '.runwright/plan.md'), 'utf8')).toBe('p\n')
  })

  test('what it leaves in its home is forgotten', async () => {
    await bash('echo x >~/left-by-plan', draft)
    expect((await bash('ls -a ~', { permissions: { sandbox: 'workspace' } })).output).not.toContain('left-by-plan')
  })
})

test('what is not asked for is the scope workspace with network', async () => {
  expect((await bash('true')).sandbox).toEqual({ scope: 'workspace', network: 'allow' })
})

describe('without bubblewrap every command is refused, in every scope, and says what to install', () => {
  let bare: Booted
  let dir = ''
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'matrix-'))
    const configFile = join(dir, 'config.toml')
    writeFileSync(configFile, '[plugins.bubblewrap]\nsearch_path = "/nowhere"\n')
    bare = await boot({ modelUrl: model.baseUrl, configFile })
  })
  afterAll(async () => {
    await bare.stop()
    rmSync(dir, { recursive: true })
  })

  test.each([{ sandbox: 'workspace' }, { sandbox: 'local', network: 'deny' }, { sandbox: 'unrestricted' }])(
    '%j',
    async permissions => {
      const answer = await bash('echo x >made.txt', { permissions }, bare)
      expect(answer.error).toMatch(/bwrap.*apt-get install bubblewrap/)
      expect(existsSync(join(bare.workspace, 'made.txt'))).toBe(false)
    },
  )

  test('while planning', async () => {
    const draft = { plan_mode: true, permissions: { unattended: 'deny' } }
    expect((await bash('echo x >.runwright/plan.md', draft, bare)).error).toMatch(/bwrap/)
    expect(existsSync(join(bare.workspace, '.runwright/plan.md'))).toBe(false)
  })
})

test.each(['workspace', 'local'])('a command cannot make what the daemon keeps its state in: %s', async sandbox => {
  const fresh = await boot({ modelUrl: model.baseUrl })
  try {
    const state = join(fresh.workspace, '.runwright')
    const plant = 'mkdir -p .runwright; echo "model = 1" >.runwright/config.toml; mv .runwright moved; ls -A'
    const { output } = await bash(plant, { permissions: { sandbox } }, fresh)
    expect(output).toMatch(/^\.runwright$/m)
    expect([readdirSync(state), statSync(state).mode & 0o777]).toEqual([[], 0o700])
    expect(existsSync(join(fresh.workspace, 'moved'))).toBe(false)
  } finally {
    await fresh.stop()
  }
})
