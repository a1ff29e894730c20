import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SANDBOX } from '#contracts/ports'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { plugin } from './index.js'
import { SeatbeltSandbox } from './seatbelt-sandbox.js'
import { openStandIn, type StandIn } from './stand-in.js'

describePlugin(plugin, { dir: import.meta.dirname })

test('it provides the sandbox on macOS and nothing elsewhere', async () => {
  const offered: boolean[] = []
  for (const platform of ['darwin', 'linux'] as const) {
    const before = Object.getOwnPropertyDescriptor(process, 'platform')
    Object.defineProperty(process, 'platform', { ...before, value: platform })
    const opened = await openPlugin(plugin).finally(() => Object.defineProperty(process, 'platform', before ?? {}))
    offered.push(opened.port(SANDBOX) !== undefined)
    await opened.close()
  }
  expect(offered).toEqual([true, false])
})

let place: StandIn
beforeAll(() => {
  place = openStandIn()
})
afterAll(() => place.close())

let marks = 0
const newMark = () => `7${process.pid}${marks++}.5`
const survivors = (mark: string) =>
  readdirSync('/proc').filter(name => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(mark)
    } catch {
      return false
    }
  })

async function until(condition: () => boolean, limitMs = 30_000): Promise<boolean> {
  for (const end = performance.now() + limitMs; performance.now() < end; await delay(5)) if (condition()) return true
  return condition()
}

describe('a command', () => {
  test('has its own env, stdin, working directory and exit code, and starts under its profile', async () => {
    mkdirSync(join(place.root, 'sub'))
    const more = { env: { ONE: 'first' }, stdin: 'from stdin\n', cwd: join(place.root, 'sub') }
    const exit = await place.run('echo $ONE; cat; pwd; exit 7', {}, more)
    expect(exit).toEqual({ kind: 'exited', code: 7, output: `first\nfrom stdin\n${place.root}/sub\n` })
    expect(readFileSync(place.profile, 'utf8')).toMatch(/^\(version 1\)/)
  })

  test('is given its words as they are', async () => {
    const words = ['$(touch evil)', "it's", '"q"', 'a\nb', '*', '', 'ümlaut', '-c']
    const { output } = await place.run('', {}, { argv: ['bash', '-c', `printf '<%s>' "$@"`, 'x', ...words] })
    expect(output).toBe(words.map(word => `<${word}>`).join(''))
    expect(existsSync(join(place.root, 'evil'))).toBe(false)
  })

  test('keeps stdout and stderr apart unless they are merged', async () => {
    const seen: string[] = []
    const onOutput = (chunk: Uint8Array, stream: string) => void seen.push(`${stream}:${Buffer.from(chunk)}`)
    await place.run('echo out; echo err >&2', {}, { mergesOutput: false, onOutput })
    expect(seen.toSorted()).toEqual(['stderr:err\n', 'stdout:out\n'])
    expect((await place.run('echo 1; echo 2 >&2; echo 3')).output).toBe('1\n2\n3\n')
  })

  test.each(['workspace', 'local', 'unrestricted'] as const)('gets nothing of the daemon in scope %s', async scope => {
    process.env.RUNWRIGHT_TEST_SECRET = 'canary'
    const { output } = await place.run('env; ls /proc/self/fd', { scope }, { env: { MINE: '1' } })
    delete process.env.RUNWRIGHT_TEST_SECRET
    const lines = output.trim().split('\n')
    expect(output).not.toContain('canary')
    expect(lines.filter(line => /^\d+$/.test(line))).toEqual(['0', '1', '2', '3'])
    const names = lines.filter(line => line.includes('=')).map(line => line.split('=')[0])
    const given = [
      'PATH',
      'HOME',
      'USER',
      'TMPDIR',
      'LANG',
      'TERM',
      'PAGER',
      'GIT_PAGER',
      'GIT_TERMINAL_PROMPT',
      'MINE',
    ]
    expect(names.toSorted()).toEqual([...given, 'PWD', 'SHLVL', '_'].toSorted())
  })

  test('cannot act by its environment before it is confined', async () => {
    const script = join(place.root, 'early')
    const env = { BASH_ENV: script, ENV: script, 'BASH_FUNC_wait%%': `() { touch ${place.base}/acted; }` }
    await place.run(`echo 'touch ${place.base}/acted' >early`)
    const argv = ['true'] as const
    await place.run('', {}, { env, argv })
    expect(existsSync(join(place.base, 'acted'))).toBe(false)
  })

  test('shares TMPDIR with its session only, until the session ends; its home lasts', async () => {
    await place.run('echo kept >$TMPDIR/note; echo cached >~/cache', {}, { session: 'one' })
    const read = async (session?: string) =>
      (await place.run('cat $TMPDIR/note', {}, session === undefined ? {} : { session })).output === 'kept\n'
    const seen = [await read('one'), await read('two'), await read()]
    await place.sandbox.endSession('one')
    expect([...seen, await read('one')]).toEqual([true, false, false, false])
    expect((await place.run('cat ~/cache; echo $HOME')).output).toMatch(/^cached\n.*\.cache\/runwright\/homes\//)
    expect((await place.run('cat ~/cache', { isReadOnly: true })).output).toContain('No such file')
    expect((await place.run('echo $HOME', { scope: 'local' })).output).toBe(`${place.home}\n`)
  })
})

describe('what cannot be enforced is refused', () => {
  test('without sandbox-exec', async () => {
    const none = { search_path: '/nowhere', listen: '127.0.0.1:8080', home: '', cache_dir: '', hidden_paths: [] }
    const sandbox = new SeatbeltSandbox(none)
    for (const scope of ['workspace', 'local', 'unrestricted'] as const)
      expect((await sandbox.check({ ...place.policy, scope }))?.reason).toContain('`sandbox-exec`')
  })

  test('where the profile is not taken, in the words of the launcher; and it is tried again', async () => {
    const bench = openStandIn()
    bench.install('echo "sandbox-exec: sandbox_apply: Operation not permitted" >&2; exit 71')
    expect((await bench.sandbox.check(bench.policy))?.reason).toContain('sandbox_apply: Operation not permitted')
    expect(await bench.run('touch ran')).toMatchObject({ kind: 'refused' })
    bench.install('shift 2; exec "$@"')
    expect(await bench.sandbox.check(bench.policy)).toBeUndefined()
    expect(existsSync(join(bench.root, 'ran'))).toBe(false)
    await bench.close()
  })

  test('a command that exits as the launcher would is no refusal', async () => {
    const script = 'echo "sandbox-exec: sandbox_apply: Operation not permitted" >&2; exit 71'
    expect(await place.run(script)).toMatchObject({ kind: 'exited', code: 71 })
  })

  test('a program that does not exist, a directory outside', async () => {
    const exit = await place.run('', {}, { argv: ['no-such-program'] })
    expect(exit).toMatchObject({ kind: 'refused', reason: expect.stringContaining('no-such-program') })
    expect((await place.run('true', {}, { cwd: '/' })).kind).toBe('refused')
  })

  test('a network that would lead to a daemon whose port is not known', async () => {
    const bench = openStandIn('127.0.0.1:0')
    expect(await bench.run('true', { network: 'allow' })).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('port'),
    })
    expect((await bench.run('true')).kind).toBe('exited')
    await bench.close()
  })
})

const WAYS: readonly (readonly [string, (mark: string) => string])[] = [
  ['a background child', mark => `sleep ${mark} &`],
  ['a background child that holds no pipe', mark => `sleep ${mark} >/dev/null 2>&1 </dev/null &`],
  ['nohup', mark => `nohup sleep ${mark} >/dev/null 2>&1 &`],
  ['a child that ignores signals', mark => `(trap "" TERM HUP INT; sleep ${mark}; sleep ${mark}) &`],
  ['a disowned job', mark => `sleep ${mark} & disown -a`],
]

describe.each(['workspace', 'unrestricted'] as const)('in scope %s', scope => {
  test.each(WAYS)('%s does not outlive the command, nor hold it up', async (_, script) => {
    const mark = newMark()
    const exit = await place.run(`${script(mark)}\nexit 3`, { scope })
    expect([exit, survivors(mark)]).toEqual([{ kind: 'exited', code: 3, output: '' }, []])
  })

  test.each(WAYS)('%s does not outlive a time-out', async (_, script) => {
    const mark = newMark()
    const exit = await place.run(`${script(mark)}\nsleep ${mark}`, { scope }, { timeoutMs: 150 })
    expect([exit.kind, await until(() => survivors(mark).length === 0)]).toEqual(['timed_out', true])
  })
})

test('an abort ends a command at once, wherever it stands', async () => {
  const mark = newMark()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const abort = new AbortController()
      setTimeout(() => abort.abort(), index * 2)
      return (await place.run(`sleep ${mark} & sleep ${mark}`, {}, { signal: abort.signal })).kind
    }),
  )
  expect([new Set(outcomes), await until(() => survivors(mark).length === 0)]).toEqual([new Set(['aborted']), true])
})

test('a failure of the one who takes output ends the command and is reported', async () => {
  const mark = newMark()
  const broken = place.run(`echo x; sleep ${mark}`, {}, { onOutput: () => Promise.reject(new Error('no more')) })
  await expect(broken).rejects.toThrow('no more')
  expect(await until(() => survivors(mark).length === 0)).toBe(true)
})

test('closing the sandbox ends what runs and removes its files', async () => {
  const bench = openStandIn()
  const mark = newMark()
  const running = bench.run(`echo $TMPDIR; sleep ${mark}`)
  expect(await until(() => survivors(mark).length > 0)).toBe(true)
  await bench.sandbox.close()
  const { kind, output } = await running
  expect([kind, survivors(mark), existsSync(output.trim())]).toEqual(['aborted', [], false])
  await bench.close()
})

test('a daemon that is killed takes its commands with it', async () => {
  const mark = newMark()
  const config = {
    search_path: join(place.base, 'bin'),
    listen: '127.0.0.1:1',
    home: place.home,
    cache_dir: '',
    hidden_paths: [],
  }
  const code = `
    import { SeatbeltSandbox } from ${JSON.stringify(join(import.meta.dirname, 'seatbelt-sandbox.js'))}
    const sandbox = new SeatbeltSandbox(${JSON.stringify({ ...config, search_path: `${config.search_path}:/usr/bin:/bin` })})
    const argv = ['bash', '-c', 'nohup sleep ${mark} & sleep ${mark}']
    sandbox.run({ argv, cwd: ${JSON.stringify(place.root)}, onOutput() {} }, ${JSON.stringify(place.policy)}, new AbortController().signal)`
  const daemon = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' })
  expect(await until(() => survivors(mark).length > 2)).toBe(true)
  daemon.kill('SIGKILL')
  expect(await until(() => survivors(mark).length === 0)).toBe(true)
})
