import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SandboxPolicy } from '#contracts/sandbox'
import { outsideAddress } from '#test/kit/outside-address'
import { type BENCH_CONFIG, BENCH_PATH, type BenchPlace, carriersOf, openBenchPlace } from './bench-place.js'
import { findProgram } from './program.js'

let place: BenchPlace
let port = 0
const server = createServer(socket => socket.on('error', () => {}).end('hello from the host'))
beforeAll(async () => {
  place = openBenchPlace()
  await new Promise<void>(done => server.listen(0, done))
  port = (server.address() as { port: number }).port
})
afterAll(async () => {
  server.close()
  await place.close()
})

const SERVER_CODE = `require("net").createServer(s=>s.end("hello neighbour")).listen(4567,"127.0.0.1",()=>console.log("up"))`
const SERVE = `node -e '${SERVER_CODE}'`
const CALL = 'cat </dev/tcp/127.0.0.1/4567'

/** Calls from a second command while a first one listens. */
async function reaches(first: Partial<SandboxPolicy>, second: Partial<SandboxPolicy>, sessions: readonly string[]) {
  const stop = new AbortController()
  const [one, two] = sessions.map(session => ({ session }))
  let up = () => {}
  const isUp = new Promise<void>(done => {
    up = done
  })
  const running = place.run(SERVE, { network: 'allow', ...first }, { ...one, signal: stop.signal, onOutput: up })
  await isUp
  const { output } = await place.run(CALL, { network: 'allow', ...second }, two)
  stop.abort()
  await running
  return output.includes('hello neighbour')
}

describe('a server that a command left running', () => {
  const acme = { tenantId: 'acme' }
  test.each<[string, Partial<SandboxPolicy>, Partial<SandboxPolicy>, readonly string[], boolean]>([
    ['the next command of the run', acme, acme, ['run 1', 'run 1'], true],
    ['a later run of the tenant in the workspace', acme, acme, ['run 1', 'run 2'], true],
    ['a run of another tenant', acme, { tenantId: 'other' }, ['run 1', 'run 2'], false],
    ['a run of another scope', { ...acme, scope: 'local' }, acme, ['run 1', 'run 2'], false],
    ['a run in another workspace', acme, { ...acme, extraDirs: ['/usr'] }, ['run 1', 'run 2'], false],
    ['a run without network', acme, { ...acme, network: 'deny' }, ['run 1', 'run 1'], false],
    ['the same session, of nobody', {}, {}, ['run 1', 'run 1'], true],
    ['another session, of nobody', {}, {}, ['run 1', 'run 2'], false],
    ['commands without a session, of nobody', {}, {}, [], false],
  ])('is seen by %s: %#', async (_, first, second, sessions, expected) => {
    expect(await reaches(first, second, sessions)).toBe(expected)
  })

  test('is seen by the command itself', async () => {
    const { output } = await place.run(`${SERVE} >up & until grep -q up up; do sleep 0.01; done; rm up; ${CALL}`, {
      network: 'allow',
    })
    expect(output).toContain('hello neighbour')
  })
})

test('names are asked from the name server of the network, in both scopes', async () => {
  for (const scope of ['workspace', 'local'] as const) {
    const { output } = await place.run('grep nameserver /etc/resolv.conf; echo x >>/etc/resolv.conf', {
      scope,
      network: 'allow',
    })
    expect(output).toMatch(/^nameserver \d+\.\d+\.\d+\.3\n.*(Read-only|denied)/)
  }
})

test('the command is the same user with no more rights than without a network', async () => {
  const script = 'id; grep -E "^Cap|^NoNewPrivs" /proc/self/status; ls /proc/self/fd | wc -l'
  const [allowed, denied] = [await place.run(script, { network: 'allow' }), await place.run(script)]
  expect(allowed.output).toBe(denied.output)
  expect(allowed.output).toMatch(new RegExp(`^uid=${process.getuid?.()}.*CapEff:\\s0+$`, 'ms'))
})

/** The programs of a PATH that the daemon has may be out of a command's sight. */
const USUAL = { env: { PATH: BENCH_PATH } }

/** Runs one command that calls this machine's loopback, or its outside address, under other settings. */
async function underSettings(config: Partial<typeof BENCH_CONFIG>, address: string) {
  const bench = openBenchPlace(config)
  const exit = await bench.run(`touch ran; cat </dev/tcp/${address}/${port}`, { network: 'allow' }, USUAL)
  const ran = existsSync(join(bench.root, 'ran'))
  await bench.close()
  return { ...exit, ran }
}

describe('the operator', () => {
  test('can share the network of the host', async () => {
    const { output } = await underSettings({ allowed_network: 'host' }, '127.0.0.1')
    expect(output).toContain('hello from the host')
  })

  test('can open a service of the host, and opens no other', async () => {
    const address = outsideAddress()
    const open = await underSettings({ host_services: [`${address}:${port}`] }, address)
    const other = await underSettings({ host_services: [`${address}:${port + 1}`] }, address)
    expect([open.output.includes('hello from the host'), other.output.includes('hello from')]).toEqual([true, false])
  })
})

describe('where a network of its own cannot be had', () => {
  /** A PATH with the programs named, and such of its own. */
  const pathOf = (names: readonly string[], own: Readonly<Record<string, string>> = {}) => {
    const dir = join(place.outside, `path-${names.join('-')}-${Object.keys(own).join('-')}`)
    mkdirSync(dir)
    for (const name of names) symlinkSync(findProgram(BENCH_PATH.split(':'), name) ?? '', join(dir, name))
    for (const [name, text] of Object.entries(own)) writeFileSync(join(dir, name), text, { mode: 0o755 })
    return dir
  }
  const BASIS = ['bash', 'bwrap', 'mkfifo', 'rm', 'touch', 'cat', 'true']

  test('the command is refused with what to install and the setting that says otherwise', async () => {
    const search_path = pathOf([...BASIS, 'unshare'])
    const refused = await underSettings({ search_path }, '127.0.0.1')
    expect(refused).toMatchObject({
      kind: 'refused',
      ran: false,
      reason: expect.stringMatching(/slirp4netns.*apt-get/),
    })
    expect(refused).toMatchObject({ reason: expect.stringContaining('allowed_network = "host"') })
    const shared = await underSettings({ search_path, allowed_network: 'host' }, '127.0.0.1')
    expect(shared).toMatchObject({ kind: 'exited', ran: true })
  })

  test.each([
    ['the carrier', 'slirp4netns', 'open("/dev/net/tun"): Permission denied', /chmod 666 .dev.net.tun/],
    ['the namespace', 'unshare', 'unshare: unshare failed: Operation not permitted', /user.max_user_namespaces/],
  ])('%s fails: the reason is told, and the next command tries again', async (_, program, said, advice) => {
    const others = [...BASIS, 'slirp4netns', 'unshare'].filter(name => name !== program)
    const search_path = pathOf(others, { [program]: `#!/bin/sh\necho '${said}' >&2; exit 1\n` })
    const bench = openBenchPlace({ search_path })
    const refused = await bench.run('true', { network: 'allow' })
    expect(refused).toMatchObject({ kind: 'refused', reason: expect.stringMatching(advice) })
    expect(refused).toMatchObject({ reason: expect.stringContaining(said) })
    const real = findProgram(BENCH_PATH.split(':'), program)
    writeFileSync(join(search_path, program), `#!/bin/sh\nexec ${real} "$@"\n`)
    expect((await bench.run('true', { network: 'allow' }, USUAL)).kind).toBe('exited')
    await bench.close()
  })

  test('the rules fail: nothing runs', async () => {
    const before = carriersOf(process.pid)
    const search_path = pathOf([...BASIS, 'slirp4netns', 'unshare'], {
      ip: '#!/bin/sh\necho "RTNETLINK answers: Operation not supported" >&2; exit 2\n',
    })
    const refused = await underSettings({ search_path }, '127.0.0.1')
    expect(refused).toMatchObject({ kind: 'refused', ran: false, reason: expect.stringContaining('policy routing') })
    expect(carriersOf(process.pid)).toEqual(before)
  })

  test('without a network, and without limits, commands run as ever', async () => {
    const bench = openBenchPlace({ search_path: pathOf(BASIS) })
    const kinds = [
      await bench.run('true', {}, USUAL),
      await bench.run('true', { scope: 'unrestricted', network: 'allow' }, USUAL),
    ]
    await bench.close()
    expect(kinds.map(({ kind }) => kind)).toEqual(['exited', 'exited'])
  })
})
