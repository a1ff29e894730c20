import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BENCH_CONFIG, type BenchPlace, carriersOf, openBenchPlace, statOf } from './bench-place.js'
import { BubblewrapSandbox } from './bubblewrap-sandbox.js'

let place: BenchPlace
beforeAll(() => {
  place = openBenchPlace()
})
afterAll(() => place.close())

/** Processes of the machine whose command line holds the mark. */
const survivors = (mark: string) =>
  readdirSync('/proc').filter(name => {
    if (!/^\d+$/.test(name)) return false
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(mark)
    } catch {
      return false
    }
  })

async function until(condition: () => boolean, limitMs = 30_000): Promise<boolean> {
  for (const end = performance.now() + limitMs; performance.now() < end; await delay(5)) if (condition()) return true
  return condition()
}

const newMark = () => `9${randomInt(1e9)}.5`

/** Ways to stay behind; each leaves `sleep <mark>` running when the main process is done. */
const WAYS: readonly (readonly [string, (mark: string) => string])[] = [
  ['a background child', mark => `sleep ${mark} &`],
  ['a background child that holds no pipe', mark => `sleep ${mark} >/dev/null 2>&1 </dev/null &`],
  ['nohup', mark => `nohup sleep ${mark} >/dev/null 2>&1 &`],
  ['setsid', mark => `setsid sleep ${mark} &`],
  ['a double fork', mark => `( (setsid sleep ${mark} >/dev/null 2>&1 &) & )`],
  ['a child that ignores signals', mark => `(trap "" TERM HUP INT; sleep ${mark}; sleep ${mark}) &`],
  ['a disowned job', mark => `sleep ${mark} & disown -a`],
  ['a child in a pid namespace of its own', mark => `unshare -Upf sleep ${mark} >/dev/null 2>&1 & sleep 0.05`],
]

describe.each([
  ['workspace', 'allow'],
  ['workspace', 'deny'],
  ['local', 'deny'],
  ['unrestricted', 'allow'],
] as const)('in scope %s with network %s', (scope, network) => {
  test.each(WAYS)('%s does not outlive the command, nor hold it up', async (_, script) => {
    const mark = newMark()
    const exit = await place.run(`${script(mark)}\nexit 3`, { scope, network, tenantId: 'one' })
    expect([exit.kind, survivors(mark)]).toEqual(['exited', []])
  })

  test.each(WAYS)('%s does not outlive a time-out', async (_, script) => {
    const mark = newMark()
    const exit = await place.run(
      `${script(mark)}\nsleep ${mark}`,
      { scope, network, tenantId: 'one' },
      { timeoutMs: 150 },
    )
    expect([exit.kind, survivors(mark)]).toEqual(['timed_out', []])
  })
})

test.each(['allow', 'deny'] as const)('an abort ends a command at once, wherever it stands: %s', async network => {
  const mark = newMark()
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const abort = new AbortController()
      setTimeout(() => abort.abort(), index)
      return (await place.run(`setsid sleep ${mark} & sleep ${mark}`, { network }, { signal: abort.signal })).kind
    }),
  )
  expect([new Set(outcomes), survivors(mark)]).toEqual([new Set(['aborted']), []])
})

test('an abort does not wait for somebody who takes no output', async () => {
  const abort = new AbortController()
  const exit = await place.run(
    'yes',
    {},
    {
      signal: abort.signal,
      onOutput: () => {
        abort.abort()
        return new Promise<void>(() => {})
      },
    },
  )
  expect(exit.kind).toBe('aborted')
})

test('a failure of the one who takes output ends the command and is reported', async () => {
  const mark = newMark()
  const broken = place.run(`echo x; sleep ${mark}`, {}, { onOutput: () => Promise.reject(new Error('no more')) })
  await expect(broken).rejects.toThrow('no more')
  expect(survivors(mark)).toEqual([])
})

test('closing the sandbox ends what runs', async () => {
  const mark = newMark()
  const sandbox = new BubblewrapSandbox({ ...BENCH_CONFIG, home: place.home })
  const running = sandbox.run(
    { argv: ['sleep', mark], cwd: place.root, onOutput: () => {} },
    place.policy,
    new AbortController().signal,
  )
  expect(await until(() => survivors(mark).length > 0)).toBe(true)
  await sandbox.close()
  expect([(await running).kind, survivors(mark)]).toEqual(['aborted', []])
})

test('after the spawner was killed the next command starts a new one', async () => {
  const mark = newMark()
  const running = place.run(`sleep ${mark}`)
  expect(await until(() => survivors(mark).length > 0)).toBe(true)
  const [launcher = ''] = survivors(mark)
  const parentOf = (pid: string) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[1] ?? ''
  let spawner = launcher
  while (parentOf(spawner) !== String(process.pid)) spawner = parentOf(spawner)
  process.kill(Number(spawner), 'SIGKILL')
  expect([(await running).kind, survivors(mark)]).toEqual(['refused', []])
  expect((await place.run('echo again')).output).toBe('again\n')
})

describe('a daemon that is killed', () => {
  /** A process that does nothing but run commands in a sandbox; it says who its spawner is and where that keeps its files. */
  const startDaemon = (mark: string) => {
    const code = `
      import { readFileSync, readlinkSync } from 'node:fs'
      import { BubblewrapSandbox } from ${JSON.stringify(join(import.meta.dirname, 'bubblewrap-sandbox.js'))}
      const sandbox = new BubblewrapSandbox(${JSON.stringify({ ...BENCH_CONFIG, home: place.home })})
      const policy = ${JSON.stringify(place.policy)}
      const argv = ['bash', '-c', 'setsid sleep ${mark} & (nohup sleep ${mark} >/dev/null 2>&1 &); sleep ${mark}']
      const run = more => sandbox.run({ argv, cwd: policy.root, onOutput() {} }, { ...policy, ...more }, new AbortController().signal)
      for (const scope of ['workspace', 'local', 'unrestricted']) for (const network of ['allow', 'deny']) run({ scope, network })
      const [spawner] = readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim().split(' ')
      const temp = readFileSync('/proc/' + spawner + '/cmdline', 'utf8').split('\\0').find(word => word.includes('runwright-tmp-'))
      console.log(JSON.stringify([spawner, readlinkSync('/proc/' + spawner + '/cwd'), temp]))`
    return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  }
  const membersOf = (leader: string) =>
    readdirSync('/proc').filter(pid => {
      const stat = /^\d+$/.test(pid) ? statOf(pid) : undefined
      return stat?.group === leader && stat.state !== 'Z'
    })

  test.each([0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 200])('%d ms after it began takes everything with it', async ms => {
    const mark = newMark()
    const daemon = startDaemon(mark)
    const [spawner = '', ...dirs]: string[] = await new Promise(done =>
      daemon.stdout?.once('data', text => done(JSON.parse(text))),
    )
    expect(dirs.map(existsSync)).toEqual([true, true])
    await delay(ms)
    daemon.kill('SIGKILL')
    // Its last words to the spawner may still be obeyed; once the files are gone, nothing more is.
    expect(await until(() => !dirs.some(existsSync))).toBe(true)
    await until(() => survivors(mark).length === 0 && membersOf(spawner).length === 0)
    expect([survivors(mark), membersOf(spawner)]).toEqual([[], []])
  })

  test('takes a program with it that carries connections, even one that was stopped', async () => {
    const mark = newMark()
    const daemon = startDaemon(mark)
    const dirs: string[] = await new Promise(done => daemon.stdout?.once('data', text => done(JSON.parse(text))))
    // Both networks carry by then, whichever of the two things comes later.
    expect(await until(() => survivors(mark).length > 12 && carriersOf(daemon.pid).length === 2)).toBe(true)
    const carriers = carriersOf(daemon.pid)
    for (const pid of carriers) process.kill(Number(pid), 'SIGSTOP')
    daemon.kill('SIGKILL')
    const isOver = () => carriers.every(pid => (statOf(pid)?.state ?? 'Z') === 'Z') && !existsSync(dirs[1] ?? '')
    expect([await until(isOver), survivors(mark)]).toEqual([true, []])
  })
})

describe('a private network', () => {
  const network = { network: 'allow', tenantId: 'acme' } as const

  test('is kept for the next command, and ends when none came', async () => {
    const bench = openBenchPlace({ network_idle_seconds: 0.3 })
    await bench.run('true', network)
    const first = carriersOf(process.pid)
    await bench.run('true', network)
    expect(carriersOf(process.pid)).toEqual(first)
    expect(await until(() => !carriersOf(process.pid).some(pid => first.includes(pid)))).toBe(true)
    expect(await bench.run('echo again', network)).toMatchObject({ kind: 'exited', output: 'again\n' })
    await bench.close()
    expect(carriersOf(process.pid).filter(pid => !first.includes(pid))).toEqual([])
  })

  test('goes with the only command in it, when nobody can come back', async () => {
    const before = carriersOf(process.pid)
    await place.run('true', { network: 'allow' })
    expect(await until(() => carriersOf(process.pid).every(pid => before.includes(pid)))).toBe(true)
  })

  test.each(['the program that carries its connections', 'its shell'])(
    'whose part, %s, was killed takes its commands with it, and the next command has a new one',
    async part => {
      const bench = openBenchPlace()
      const mark = newMark()
      const before = carriersOf(process.pid)
      const running = bench.run(`setsid sleep ${mark} & sleep ${mark}`, network)
      expect(await until(() => survivors(mark).length > 1)).toBe(true)
      const [carrier = ''] = carriersOf(process.pid).filter(pid => !before.includes(pid))
      const [shell = ''] = readFileSync(`/proc/${carrier}/task/${carrier}/children`, 'utf8').trim().split(' ')
      process.kill(Number(part === 'its shell' ? shell : carrier), 'SIGKILL')
      expect([(await running).kind, survivors(mark)]).toEqual(['refused', []])
      expect(await bench.run('echo again', network)).toMatchObject({ kind: 'exited', output: 'again\n' })
      await bench.close()
    },
  )
})

describe('limits', () => {
  const limited = async (script: string, config: Partial<typeof BENCH_CONFIG>) => {
    const sandbox = new BubblewrapSandbox({ ...BENCH_CONFIG, ...config, home: place.home })
    let output = ''
    const exit = await sandbox.run(
      {
        argv: ['perl', '-e', script],
        cwd: place.root,
        timeoutMs: 10_000,
        onOutput: chunk => {
          output += Buffer.from(chunk)
        },
      },
      place.policy,
      new AbortController().signal,
    )
    await sandbox.close()
    return { exit, output }
  }

  test('a fork bomb stops at the limit', async () => {
    const script =
      '$|=1;while(1){my $p=fork();last unless defined $p;if(!$p){sleep 60;exit}$n++;last if $n>3000}print "$n"'
    const { output } = await limited(script, { max_processes: 600 })
    expect(Number(output)).toBeLessThan(600)
  })

  test('a process that wants too much memory does not get it', async () => {
    const { exit, output } = await limited('$x="a"x(600<<20);print "got it"', { max_memory_mb: 256 })
    expect([exit.kind, output]).toEqual(['exited', expect.not.stringContaining('got it')])
  })

  test('a flood of output waits for the one who takes it', async () => {
    let most = 0
    let taken = 0
    const before = process.memoryUsage().rss
    const abort = new AbortController()
    await place.run(
      'yes',
      {},
      {
        signal: abort.signal,
        onOutput: async chunk => {
          taken += chunk.length
          if (taken > 20_000_000) abort.abort()
          if (taken % 64 === 0) await delay(0)
          most = Math.max(most, process.memoryUsage().rss - before)
        },
      },
    )
    expect(most).toBeLessThan(100 * 1024 * 1024)
  })
})
