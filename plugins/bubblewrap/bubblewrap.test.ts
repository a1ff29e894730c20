import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describePlugin } from '#test/kit/describe-plugin'
import { outsideAddress } from '#test/kit/outside-address'
import { BENCH_CONFIG, type BenchPlace, openBenchPlace } from './bench-place.js'
import { BubblewrapSandbox } from './bubblewrap-sandbox.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

let place: BenchPlace
let port = 0
const server = createServer(socket => socket.end('hello from the host'))

beforeAll(async () => {
  await new Promise<void>(done => server.listen(0, done))
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
  place = openBenchPlace({ host_services: [`${outsideAddress()}:${port}`] })
})
afterAll(async () => {
  server.close()
  await place.close()
})

describe('scope and network', () => {
  test.each([
    ['workspace', 'allow', { inside: true, outside: false, network: true }],
    ['workspace', 'deny', { inside: true, outside: false, network: false }],
    ['local', 'allow', { inside: true, outside: true, network: true }],
    ['local', 'deny', { inside: true, outside: true, network: false }],
    ['unrestricted', 'allow', { inside: true, outside: true, network: true }],
    ['unrestricted', 'deny', { inside: true, outside: true, network: true }],
  ] as const)('%s with network %s reaches what it says and no more', async (scope, network, expected) => {
    const [inside, outside] = [join(place.root, 'made'), join(place.outside, 'made')]
    const { output } = await place.run(
      `echo x >'${inside}'; echo x >'${outside}'; cat </dev/tcp/${outsideAddress()}/${port}`,
      {
        scope,
        network,
      },
    )
    const seen = {
      inside: existsSync(inside),
      outside: existsSync(outside),
      network: output.includes('hello from the host'),
    }
    for (const path of [inside, outside]) rmSync(path, { force: true })
    expect(seen).toEqual(expected)
  })

  test('plan mode writes only the paths it names, also one that does not exist yet', async () => {
    const plan = join(place.root, 'plan.md')
    const { output } = await place.run(`echo the plan >plan.md; echo no >other; touch .git/x; cat plan.md`, {
      isReadOnly: true,
      writablePaths: [plan],
    })
    expect(output).toContain('the plan')
    expect(readFileSync(plan, 'utf8')).toBe('the plan\n')
    expect([existsSync(join(place.root, 'other')), existsSync(join(place.root, '.git/x'))]).toEqual([false, false])
  })

  test('plan mode holds in the local scope', async () => {
    await place.run('echo no >other', { scope: 'local', isReadOnly: true })
    expect(existsSync(join(place.root, 'other'))).toBe(false)
  })

  test('extra directories are workspace too', async () => {
    const { output } = await place.run(`echo yes >'${place.outside}/extra' && cat '${place.outside}/extra'`, {
      extraDirs: [place.outside],
    })
    rmSync(join(place.outside, 'extra'))
    expect(output).toBe('yes\n')
  })

  test.each(['workspace', 'local'] as const)('hidden paths are hidden in scope %s', async scope => {
    const { output } = await place.run(`find . -type f -exec cat {} + ; ls -A .runwright`, { scope })
    expect(output).not.toContain(place.canary)
  })

  test('a workspace that is the home itself still hides the secrets in it', async () => {
    const { output } = await place.run(
      'cat notes.txt; cat .ssh/id_ed25519 .npmrc .config/gh/hosts.yml',
      {
        root: place.home,
      },
      { cwd: place.home },
    )
    expect(output.split(place.canary)).toHaveLength(2)
  })
})

describe('a command', () => {
  test.each(['workspace', 'local', 'unrestricted'] as const)('gets nothing of the daemon in scope %s', async scope => {
    process.env.RUNWRIGHT_TEST_SECRET = place.canary
    const { output } = await place.run('env; cat /proc/*/environ; echo; ls /proc/self/fd', { scope })
    delete process.env.RUNWRIGHT_TEST_SECRET
    expect(output).not.toContain(place.canary)
    expect(output.trim().split('\n').slice(-4)).toEqual(['0', '1', '2', '3'])
  })

  test('has its own env, stdin, working directory and exit code', async () => {
    mkdirSync(join(place.root, 'sub'), { recursive: true })
    const exit = await place.run(
      'echo $ONE; cat; pwd; exit 7',
      {},
      {
        env: { ONE: 'first' },
        stdin: 'from stdin\n',
        cwd: join(place.root, 'sub'),
      },
    )
    expect(exit).toEqual({ kind: 'exited', code: 7, output: `first\nfrom stdin\n${place.root}/sub\n` })
  })

  test('keeps stdout and stderr apart unless they are merged', async () => {
    const seen: string[] = []
    await place.run(
      'echo out; echo err >&2; echo more >/dev/stderr',
      {},
      {
        mergesOutput: false,
        onOutput: (chunk, stream) => void seen.push(`${stream}:${Buffer.from(chunk).toString()}`),
      },
    )
    expect(seen.filter(text => text.startsWith('stdout')).join('')).toBe('stdout:out\n')
    expect(seen.filter(text => text.startsWith('stderr')).join('')).toContain('more')
  })

  test('shares /tmp with its session only, until the session ends', async () => {
    await place.run('echo kept >/tmp/note', {}, { session: 'one' })
    const inOne = await place.run('cat /tmp/note', {}, { session: 'one' })
    const inTwo = await place.run('cat /tmp/note', {}, { session: 'two' })
    const alone = await place.run('cat /tmp/note')
    await place.sandbox.endSession('one')
    const after = await place.run('cat /tmp/note', {}, { session: 'one' })
    expect([inOne, inTwo, alone, after].map(({ output }) => output === 'kept\n')).toEqual([true, false, false, false])
  })

  test('finds a private home that lasts, the same in one workspace only', async () => {
    await place.run('mkdir -p ~/.npm && echo cached >~/.npm/x')
    expect((await place.run('cat ~/.npm/x')).output).toBe('cached\n')
    const elsewhere = { root: place.outside, hiddenPaths: [] }
    expect((await place.run('ls -A ~', elsewhere, { cwd: place.outside })).output).toBe('')
    expect(existsSync(join(place.home, '.npm'))).toBe(false)
  })

  test('works in a git repository: commits go through', async () => {
    execFileSync('git', ['init', '-q', join(place.root, 'repo')])
    const root = join(place.root, 'repo')
    const { output } = await place.run(
      'echo x >f && git add f && git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline | wc -l',
      { root, hiddenPaths: [] },
      { cwd: root },
    )
    expect(output.trim()).toBe('1')
  })
})

describe('what cannot be enforced is refused', () => {
  const refusalOf = async (config: Partial<typeof BENCH_CONFIG>) => {
    const sandbox = new BubblewrapSandbox({ ...BENCH_CONFIG, ...config })
    const refusal = await sandbox.check(place.policy)
    const marker = join(place.root, 'ran')
    const exit = await sandbox.run(
      { argv: ['touch', marker], cwd: place.root, onOutput: () => {} },
      place.policy,
      new AbortController().signal,
    )
    await sandbox.close()
    return { refusal, exit, ran: existsSync(marker) }
  }

  test('without bubblewrap on the PATH, saying what to install', async () => {
    const { refusal, exit, ran } = await refusalOf({ search_path: '/nowhere' })
    expect(refusal).toMatchObject({ kind: 'refused', reason: expect.stringContaining('apt-get install bubblewrap') })
    expect([exit.kind, ran]).toEqual(['refused', false])
  })

  test('when namespaces are refused, saying what to enable; and it is tried again', async () => {
    const broken = join(place.outside, 'bwrap')
    writeFileSync(broken, '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2; exit 1\n', {
      mode: 0o755,
    })
    const sandbox = new BubblewrapSandbox({ ...BENCH_CONFIG, bwrap_path: broken })
    const refusal = await sandbox.check(place.policy)
    expect(refusal?.reason).toContain('user.max_user_namespaces')
    writeFileSync(broken, '#!/bin/sh\nexec bwrap "$@"\n')
    expect(await sandbox.check(place.policy)).toBeUndefined()
    await sandbox.close()
  })

  test('a directory outside of the workspace, also behind a link', async () => {
    symlinkSync(place.outside, join(place.root, 'way-out'))
    const kinds = await Promise.all(
      ['/', place.outside, join(place.root, 'way-out'), join(place.root, 'none')].map(
        async cwd => (await place.run('true', {}, { cwd })).kind,
      ),
    )
    expect(kinds).toEqual(['refused', 'refused', 'refused', 'refused'])
  })

  test('a program that does not exist', async () => {
    const exit = await place.run('', {}, { argv: ['no-such-program'] })
    expect(exit).toMatchObject({ kind: 'refused', reason: expect.stringContaining('no-such-program') })
  })

  test('a good machine passes the check', async () => {
    expect(await place.sandbox.check(place.policy)).toBeUndefined()
  })
})
