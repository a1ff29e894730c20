import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openTestBench, type TestBench } from './test-bench.js'

/** What hangs, hangs for ever. */
const MAX_CALL_MS = 10_000
let bench: TestBench
let attacker: ChildProcess | undefined

beforeEach(async () => {
  bench = await openTestBench({ search_timeout_ms: 900 })
  const { base, root } = bench
  mkdirSync(join(base, 'ws-evil'))
  writeFileSync(join(base, 'ws-evil/secret'), 'SECRET')
  bench.put('sub/file.txt', 'inside\n')
  bench.put('.runwright/secret', 'SECRET')
  bench.put('.git/hooks/sample', 'hook')
  for (const [target, link] of [
    ['../outside', 'dir-out'], ['../outside/secret', 'file-out'], [join(base, 'outside'), 'abs-out'], ['/', 'rootfs'],
    ['/proc/self', 'proc'], ['/proc/self/root', 'procroot'], ['/dev', 'dev'], ['/dev/zero', 'zero'], ['loop', 'loop'], ['ping', 'pong'],
    ['pong', 'ping'], ['sub', 'in'], ['sub/../../outside', 'dots-out'], ['dir-out', 'chain'], ['../ws-evil', 'evil'], ['../made-outside', 'dangling'],
    ['.runwright', 'state'], ['.git', 'repo'], ['../ws/../outside/secret', 'round'], ['file-out/', 'slash'],
  ] as const) symlinkSync(target, join(root, link)) // biome-ignore format: a table
  execFileSync('mkfifo', [join(root, 'fifo')])
  writeFileSync(join(root, 'giant'), '')
  truncateSync(join(root, 'giant'), 2 ** 40)
})
afterEach(async () => {
  if (attacker) await stopped(attacker)
  attacker = undefined
  bench.close()
})

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exit = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exit
}

/** Each must be refused by every tool that takes a path to a file. */
const refused = (base: string): readonly string[] => [
  '', '.', '..', '/', '//', './', '../', '...//..', '../outside/secret', '../../outside/secret', './../outside/secret', 'sub/../../outside/secret',
  'sub/../sub/../../outside/secret', 'sub//..//..//outside//secret', '../ws-evil/secret', `${base}/ws-evil/secret`, `${base}/outside/secret`,
  `${base}/ws/../outside/secret`, `${base}/ws/./../outside/secret`, `${base}/ws/sub/../../outside/secret`, `//${base}/outside/secret`,
  `${base}/wss`, `${base}/w`, `${base}/ws/..`, base, '/etc/passwd', '/etc/../etc/passwd', '//etc/passwd', '/./etc/passwd', '/proc/self/environ',
  '/proc/self/root/etc/passwd', '/proc/1/environ', '/proc/self/cwd/../outside/secret', '/proc/self/fd/0', '/dev/zero', '/dev/tty', '/dev/stdin',
  '/dev/fd/0', '/sys/kernel/notes', '/tmp', '/root/.ssh/id_rsa', '\0', 'a\0b', 'sub/file.txt\0', '\0/etc/passwd', 'sub/file.txt\0.png', 'a\nb', 'a\rb', '\u001b[2J', 'a\tb',
  '\u007f', 'a'.repeat(256), 'a'.repeat(5000), 'a/'.repeat(3000), 'a/'.repeat(300), '../'.repeat(100), `${'../'.repeat(40)}etc/passwd`, '\ud800', 'x\udfff',
  'dir-out/secret', 'file-out', 'abs-out/secret', 'rootfs/etc/passwd', 'proc/environ', 'proc/cwd/x', 'procroot/etc/passwd', 'dev/zero', 'zero', 'loop',
  'loop/x', 'ping', 'pong/x', 'dots-out/secret', 'chain/secret', 'evil/secret', 'dangling', 'round', 'slash', 'in/../../outside/secret',
  'dir-out/../../ws/sub/file.txt', 'fifo', 'fifo/x', 'sub', 'in', 'sub/file.txt/x', 'sub/file.txt/', 'sub/file.txt/..', 'sub/file.txt/../file.txt', '.runwright/secret',
  '.RunWright/secret', './sub/../.runwright/secret', 'state/secret', `${base}/ws/.runwright/secret`, '.runwright', 'sub/.runwright/x', 'dir-out', 'rootfs', 'proc', 'dev',
] // biome-ignore format: a table

/** Ordinary names that only look like something else; at most they stay inside. */
const odd = (base: string): readonly string[] => [
  '%2e%2e/outside/secret', '..%2foutside%2fsecret', '%252e%252e/secret', '..\\outside\\secret', '\\..\\..\\etc', '~', '~/secret', '~root/x', '$HOME/x', `\${PWD}`,
  '`id`', '$(id)', 'a;b', 'a|b', '-rf', '--files', '-', '*', '?', '[a]', '{a,b}', 'file:///etc/passwd', 'http://x/y', 'C:\\Windows', '\u2024\u2024/x', '\uff0e\uff0e/x',
  '\u2025/x', 'x\u2215y', 'x\u2044y', '..\uff0foutside', '.\u200b./x', '\u202etxt', '\ufeffx', 'é', 'e\u0301', '...', '....//x', '. ', ' ', '..;/x', '.. /x', ' ..',
  'a '.repeat(50), 'CON', 'nul', 'sub/./file.txt', 'sub//file.txt', './sub/file.txt', 'in/file.txt', 'in/../sub/file.txt', `${base}/ws/sub/file.txt`,
  `${base}//ws///sub/file.txt`, `${base}/ws/in/file.txt`, 'hard', '.gitx', 'git', '.git.', 'constructor', '__proto__', 'giant',
] // biome-ignore format: a table

const calls = (path: string): readonly (readonly [string, object])[] => [
  ['read', { path }],
  ['edit', { path, old_text: 'SECRET', new_text: 'OWNED' }],
  ['write', { path, content: 'OWNED' }],
  ['apply_patch', { path, find: 'SECRET', replace: 'OWNED' }],
  ['apply_patch', { patch: `*** Begin Patch\n*** Add File: ${path}\n+OWNED\n*** End Patch` }],
  ['apply_patch', { patch: `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch` }],
  ['apply_patch', { patch: `*** Begin Patch\n*** Update File: sub/file.txt\n*** Move to: ${path}\n*** End Patch` }],
  ['apply_patch', { patch: `--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-SECRET\n+OWNED\n` }],
]
const searches = (path: string): readonly (readonly [string, object])[] => [
  ['ls', { path, recursive: true, include_hidden: true }],
  ['glob', { pattern: path }],
  ['glob', { pattern: `${path}/**` }],
  ['grep', { query: 'SECRET', path }],
]

async function attempt(
  name: string,
  args: object,
): Promise<{ readonly isError: boolean; readonly text: string; readonly shown: string }> {
  const started = performance.now()
  const answer = await bench.call(name, args)
  expect(performance.now() - started, `${name} ${JSON.stringify(args).slice(0, 200)}`).toBeLessThan(MAX_CALL_MS)
  return {
    isError: answer.error !== undefined,
    text: JSON.stringify(answer),
    shown: JSON.stringify([answer.entries, answer.matches]),
  }
}

function expectOutsideUntouched(): void {
  const { base, root } = bench
  expect(readdirSync(base).toSorted()).toEqual(['extra', 'outside', 'ws', 'ws-evil'])
  expect([
    readdirSync(join(base, 'outside')),
    readdirSync(join(base, 'ws-evil')),
    readdirSync(join(base, 'extra')),
  ]).toEqual([['secret'], ['secret'], []])
  for (const path of ['outside/secret', 'ws-evil/secret', 'ws/.runwright/secret'])
    expect(readFileSync(join(base, path), 'utf8')).toBe('SECRET')
  expect(readdirSync(join(root, '.git/hooks'))).toEqual(['sample'])
}

describe('path strings on every path input', () => {
  test('what is not a file inside is refused by every tool, at once', async () => {
    const wrong: string[] = []
    for (const path of refused(bench.base))
      for (const [name, args] of calls(path)) {
        // A line break ends the name inside a patch text, and blank names are no names there: other paths than meant here.
        if ('patch' in args && (/[\n\r]/.test(path) || path.trim() !== path || path === '')) continue
        const { isError, text } = await attempt(name, args)
        if (!isError || text.includes('SECRET'))
          wrong.push(`${name} ${JSON.stringify(args).slice(0, 120)} -> ${text.slice(0, 120)}`)
      }
    expect(wrong).toEqual([])
    expectOutsideUntouched()
    expect(bench.text('sub/file.txt')).toBe('inside\n')
  }, 60_000)

  test('no search shows anything from outside', async () => {
    for (const path of [...refused(bench.base), ...odd(bench.base)])
      for (const [name, args] of searches(path)) {
        const { shown } = await attempt(name, args)
        expect(shown, `${name} ${path}`).not.toMatch(/secret|passwd|"pid"/i)
      }
    expectOutsideUntouched()
  }, 60_000)

  test('names that look like something else stay inside', async () => {
    linkSync(join(bench.base, 'outside/secret'), join(bench.root, 'hard'))
    for (const path of odd(bench.base)) for (const [name, args] of calls(path)) await attempt(name, args)
    expectOutsideUntouched()
  }, 60_000)
})

test('grep never shows a line from outside while folders are swapped for links under it', async () => {
  const { base, root } = bench
  for (let index = 0; index < 50; index++) {
    bench.put(`dir/f${index}`, 'NEEDLE inside\n')
    writeFileSync(join(base, 'outside', `f${index}`), 'NEEDLE OUTSIDE\n')
  }
  symlinkSync('../outside', join(root, 'dir-link'))
  const swap = `const { renameSync: mv } = require('node:fs'); process.chdir(process.argv[1]); process.stdout.write('on')
    for (;;) { mv('dir', 'tmp'); mv('dir-link', 'dir'); mv('dir', 'dir-link'); mv('tmp', 'dir') }`
  attacker = spawn(process.execPath, ['-e', swap, root], { stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise(resolve => attacker?.stdout?.once('data', resolve))
  let seen = 0
  const end = performance.now() + 2500
  while (performance.now() < end) {
    const { matches = [] } = await bench.call('grep', { query: 'NEEDLE' })
    expect(matches.filter((match: { line: string }) => match.line.includes('OUTSIDE'))).toEqual([])
    seen += matches.length
  }
  expect(seen).toBeGreaterThan(0)
  expect(attacker.exitCode).toBeNull()
})
