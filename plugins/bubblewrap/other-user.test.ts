import { spawn } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BENCH_CONFIG } from './bench-place.js'

/**
 * A daemon of an ordinary user: what root may do anyway has to go without. Where the suite runs as root, a process loads the
 * sandbox and then gives all that up for good.
 */

const NOBODY = 65534
const base = mkdtempSync(join(tmpdir(), 'ordinary-'))
const [root, home, cache, temp] = ['workspace', 'home', 'cache', 'temp'].map(name => join(base, name)) as [
  string,
  string,
  string,
  string,
]

beforeAll(() => {
  chmodSync(base, 0o755)
  for (const dir of [root, home, cache, temp]) {
    mkdirSync(dir)
    if (process.getuid?.() === 0) chownSync(dir, NOBODY, NOBODY)
  }
})
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** Evaluates statements that have `run(script, policy, more)`, `sandbox`, `say(value)` and returns what was said. */
async function asOrdinaryUser(statements: string): Promise<readonly unknown[]> {
  const code = `
    import * as fs from 'node:fs'
    import { BubblewrapSandbox } from ${JSON.stringify(join(import.meta.dirname, 'bubblewrap-sandbox.js'))}
    if (process.getuid() === 0) { process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY}) }
    const [root, temp] = ${JSON.stringify([root, temp])}
    const sandbox = new BubblewrapSandbox(${JSON.stringify({ ...BENCH_CONFIG, home, cache_dir: cache })})
    const basis = { scope: 'workspace', network: 'deny', root, extraDirs: [], hiddenPaths: [] }
    const run = async (script, policy = {}, more = {}) => {
      let output = ''
      const argv = ['bash', '-c', script]
      const onOutput = chunk => { output += Buffer.from(chunk) }
      const command = { argv, cwd: root, mergesOutput: true, timeoutMs: 15_000, onOutput, ...more }
      const exit = await sandbox.run(command, { ...basis, ...policy }, new AbortController().signal)
      return exit.kind === 'refused' ? exit.reason : exit.kind + ' ' + output.trim()
    }
    // What the sandbox waits for keeps no daemon alive.
    const alive = setInterval(() => {}, 1000)
    const say = value => console.log(JSON.stringify(value))
    ${statements}
    clearInterval(alive)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: base,
    env: { PATH: process.env.PATH, TMPDIR: temp },
  })
  const [said, complaint] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(complaint).toBe('')
  return said
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
}

const hasMode = (path: string, bits: number) => existsSync(path) && (statSync(path).mode & bits) === bits

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

test('has every scope, as itself and without capabilities', async () => {
  const said = await asOrdinaryUser(`
    for (const scope of ['workspace', 'local', 'unrestricted']) say(await run('id -u; grep -c "CapEff:.0*$" /proc/self/status; echo x >inside && cat inside', { scope }))
    say(await run('echo x >inside; cat inside', { isPinned: true }))
    say(await run('touch other 2>/dev/null; echo plan >plan.md; cat plan.md', { isReadOnly: true, writablePaths: ['plan.md'] }))
    await sandbox.close()`)
  const uid = process.getuid?.() === 0 ? NOBODY : process.getuid?.()
  const whole = `exited ${uid}\n1\nx`
  expect(said).toEqual([whole, whole, whole, 'exited x', 'exited plan'])
  expect(existsSync(join(root, 'other'))).toBe(false)
})

test('has an allowed network where it may make one, and is told how to; also the next time', async () => {
  const said = await asOrdinaryUser(`
    const free = async () => { while (fs.readdirSync('/proc/self/fd').length > open) await new Promise(setImmediate) }
    await run('true')
    const open = fs.readdirSync('/proc/self/fd').length
    for (const time of [1, 2, 3]) {
      say(await run('grep -c tap0 /proc/net/dev; grep -c nameserver /etc/resolv.conf', { network: 'allow' }))
      await free()
    }
    await sandbox.close()`)
  // The process gives up what this one may.
  const isOpen = process.getuid?.() === 0 ? hasMode('/dev/net/tun', 0o006) : mayWrite('/dev/net/tun')
  expect(said).toEqual(Array(3).fill(isOpen ? 'exited 1\n1' : expect.stringContaining('chmod 666 /dev/net/tun')))
})

test('directories that nobody may write do not stay when the session or the sandbox ends', async () => {
  const said = await asOrdinaryUser(`
    const plant = 'mkdir -p /tmp/mod/a/b && echo x >/tmp/mod/a/b/f && ln -s "$PWD" /tmp/mod/link && chmod -R a-w /tmp/mod && chmod 0 /tmp/mod/a'
    const left = () => fs.readdirSync(temp).flatMap(name => fs.readdirSync(temp + '/' + name))
    for (const session of ['one', 'two']) await run(plant, {}, { session })
    say(left().length)
    await sandbox.endSession('one')
    say(left().length)
    await sandbox.close()
    say(fs.readdirSync(temp))
    fs.accessSync(root, fs.constants.W_OK)`)
  expect(said).toEqual([2, 1, []])
})

test('nor when the daemon is killed', async () => {
  await asOrdinaryUser(`
    await run('mkdir -p /tmp/mod/a/b && chmod -R a-w /tmp/mod', {}, { session: 'one' })
    process.kill(process.pid, 'SIGKILL')`)
  await expect.poll(() => readdirSync(temp), { timeout: 15_000 }).toEqual([])
})

test('a command that shuts its pipes takes nothing from those that come later', async () => {
  const said = await asOrdinaryUser(`
    say(await run('chmod 0 /proc/self/fd/1 && echo shut'))
    say(await run('chmod 0 /proc/self/fd/1 /proc/self/fd/2 && echo shut', {}, { mergesOutput: false }))
    say(await run('chmod 0 /proc/self/fd/0', {}, { stdin: 'x' }))
    for (const more of [{}, {}, { mergesOutput: false }, { stdin: 'x' }]) say(await run('echo next', {}, more))
    await sandbox.close()`)
  expect(said.slice(0, 2)).toEqual(['exited shut', 'exited shut'])
  expect(said.slice(3)).toEqual(Array(4).fill('exited next'))
})
