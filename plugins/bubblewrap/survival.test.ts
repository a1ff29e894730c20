import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BENCH_CONFIG, type BenchPlace, openBenchPlace } from './bench-place.js'
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

async function until(condition: () => boolean, limitMs = 5000): Promise<boolean> {
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

describe.each(['workspace', 'local', 'unrestricted'] as const)('in scope %s', scope => {
  test.each(WAYS)('%s does not outlive the command, nor hold it up', async (_, script) => {
    const mark = newMark()
    const exit = await place.run(`${script(mark)}\nexit 3`, { scope })
    expect([exit.kind, survivors(mark)]).toEqual(['exited', []])
  })

  test.each(WAYS)('%s does not outlive a time-out', async (_, script) => {
    const mark = newMark()
    const exit = await place.run(`${script(mark)}\nsleep ${mark}`, { scope }, { timeoutMs: 150 })
    expect([exit.kind, survivors(mark)]).toEqual(['timed_out', []])
  })
})

test('an abort ends a command at once, wherever it stands', async () => {
  const mark = newMark()
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const abort = new AbortController()
      setTimeout(() => abort.abort(), index)
      return (await place.run(`setsid sleep ${mark} & sleep ${mark}`, {}, { signal: abort.signal })).kind
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
  /** A process that does nothing but run commands in a sandbox; it says where the spawner keeps its files. */
  const startDaemon = (mark: string) => {
    const code = `
      import { readFileSync, readlinkSync } from 'node:fs'
      import { BubblewrapSandbox } from ${JSON.stringify(join(import.meta.dirname, 'bubblewrap-sandbox.js'))}
      const sandbox = new BubblewrapSandbox(${JSON.stringify({ ...BENCH_CONFIG, home: place.home })})
      const policy = ${JSON.stringify(place.policy)}
      const argv = ['bash', '-c', 'setsid sleep ${mark} & (nohup sleep ${mark} >/dev/null 2>&1 &); sleep ${mark}']
      const run = scope => sandbox.run({ argv, cwd: policy.root, onOutput() {} }, { ...policy, scope }, new AbortController().signal)
      for (const scope of ['workspace', 'local', 'unrestricted']) run(scope)
      const [spawner] = readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim().split(' ')
      const temp = readFileSync('/proc/' + spawner + '/cmdline', 'utf8').split('\\0').find(word => word.includes('runwright-tmp-'))
      console.log(JSON.stringify([readlinkSync('/proc/' + spawner + '/cwd'), temp]))`
    return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  }
  test.each([0, 1, 2, 3, 5, 8, 13, 21, 100])('%d ms after it began takes every command and file with it', async ms => {
    const mark = newMark()
    const daemon = startDaemon(mark)
    const dirs: string[] = await new Promise(done => daemon.stdout?.once('data', text => done(JSON.parse(text))))
    expect(dirs.map(existsSync)).toEqual([true, true])
    await delay(ms)
    daemon.kill('SIGKILL')
    // Its last words to the spawner may still be obeyed; once the files are gone, nothing more is.
    expect(await until(() => !dirs.some(existsSync))).toBe(true)
    expect([await until(() => survivors(mark).length === 0), survivors(mark)]).toEqual([true, []])
  })
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
