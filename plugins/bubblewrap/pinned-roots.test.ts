import { type ChildProcess, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SandboxPolicy } from '#contracts/sandbox'
import { type BenchPlace, openBenchPlace } from './bench-place.js'

const ATTACK_MS = 5000

/**
 * Swaps a directory with a link that leads out, as another run could that works in the one above. In half of the rounds
 * as fast as it can, else with rests that are about as long as it takes to start a command.
 */
const ATTACKER = `
const { renameSync: mv } = require('node:fs')
process.chdir(process.argv[1])
process.stdout.write('on')
const rest = ms => { for (const end = performance.now() + ms; performance.now() < end; ); }
for (let most = 0; ; most = Math.random() < 0.5 ? 0 : 6) {
  rest(Math.random() * most); mv('ws', 'tmp'); mv('link', 'ws')
  rest(Math.random() * most); mv('ws', 'link'); mv('tmp', 'ws')
}`

let place: BenchPlace
let above: string
let attacker: ChildProcess | undefined

beforeEach(() => {
  place = openBenchPlace()
  above = mkdtempSync(join(place.outside, 'above-'))
  for (const dir of ['ws', 'secret', 'ws/.git', 'ws/.git/hooks', 'secret/.git']) mkdirSync(join(above, dir))
  for (const dir of ['ws', 'secret']) writeFileSync(join(above, dir, '.git/config'), '')
  writeFileSync(join(above, 'ws/f'), 'INSIDE')
  writeFileSync(join(above, 'secret/f'), 'OUTSIDE')
})
afterEach(async () => {
  const exit = new Promise(resolve => (attacker ? attacker.once('exit', resolve) : resolve(undefined)))
  attacker?.kill('SIGKILL')
  await exit
  attacker = undefined
  await place.close()
})

async function attack(): Promise<void> {
  attacker = spawn(process.execPath, ['-e', ATTACKER, above], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise(resolve => attacker?.stdout?.once('data', resolve))
}

const pinned = (more: Partial<SandboxPolicy> = {}): Partial<SandboxPolicy> => ({
  root: join(above, 'ws'),
  // As daemon state would be: not readable where it is not mounted.
  hiddenPaths: [join(above, 'secret')],
  isPinned: true,
  ...more,
})

/** Of one that began where the link led when it started: in its own view, where what is outside is covered. */
const ASTRAY = 'cat: f: No such file or directory'

/** What a command that reads and writes in its root came to. */
async function outcome(policy: Partial<SandboxPolicy>, script = 'cat f; echo x >planted'): Promise<string> {
  const exit = await place.run(script, policy, { cwd: policy.root ?? place.root })
  return exit.kind === 'refused' ? `refused: ${exit.reason}` : exit.output
}

describe('a pinned root that another process swaps with a link', () => {
  test.each([
    ['relative', 'secret', {}],
    ['absolute', '', {}],
    ['in plan mode', 'secret', { isReadOnly: true, writablePaths: ['plan.md'] }],
  ] as const)(
    'is never followed: %s',
    async (_, to, more) => {
      symlinkSync(to || join(above, 'secret'), join(above, 'link'))
      await attack()
      const seen = { inside: 0, outside: 0, refused: 0, astray: 0, other: 0 }
      const policy = pinned('writablePaths' in more ? { ...more, writablePaths: [join(above, 'ws/plan.md')] } : more)
      for (const end = performance.now() + ATTACK_MS; performance.now() < end; ) {
        const text = await outcome(policy)
        if (text.includes('OUTSIDE')) seen.outside++
        else if (text.startsWith('refused')) seen.refused++
        else if (text.includes('INSIDE')) seen.inside++
        else if (text.trim() === ASTRAY) seen.astray++
        else seen.other++
      }
      expect(attacker?.exitCode).toBeNull()
      expect(seen.inside).toBeGreaterThan(0)
      expect(seen.other).toBe(0)
      expect(readdirSync(join(above, 'secret')).sort()).toEqual(['.git', 'f'])
      expect(seen.outside).toBe(0)
      expect(seen.refused).toBeGreaterThan(0)
    },
    30_000,
  )
})

test('a root that has become a link is refused by name', async () => {
  renameSync(join(above, 'ws'), join(above, 'moved'))
  symlinkSync('secret', join(above, 'ws'))
  expect(await outcome(pinned({ hiddenPaths: [] }))).toContain('was moved, or replaced by a link')
  expect(existsSync(join(above, 'secret/planted'))).toBe(false)
})

test.each(['deny', 'allow'] as const)(
  'a command in a pinned root gets descriptors 0 to 2 only: network %s',
  async network => {
    const policy = pinned({ network })
    const text = await outcome(
      policy,
      'cat f; echo; echo /proc/self/fd/*; for f in /proc/1/fd/*; do readlink $f; done; cat',
    )
    const [first, own, ...init] = text.trim().split('\n')
    expect([first, own]).toEqual([
      'INSIDE',
      expect.stringMatching(
        /^\/proc\/self\/fd\/0 \/proc\/self\/fd\/1 \/proc\/self\/fd\/2( \/proc\/self\/fd\/\*)?( \/proc\/self\/fd\/3)?$/,
      ),
    ])
    expect(init.filter(name => /\.go|mounted|above/.test(name))).toEqual([])
  },
)

test.each([{ mergesOutput: true }, { mergesOutput: false }])('its output and code are its own: %o', async more => {
  const exit = await place.run('printf a; printf b >&2; exit 7', pinned(), { cwd: join(above, 'ws'), ...more })
  expect(exit).toMatchObject({ kind: 'exited', code: 7 })
  expect([...exit.output].sort().join('')).toBe('ab')
})

test('a program that is not there is still said to be missing', async () => {
  const exit = await place.run('', pinned(), { cwd: join(above, 'ws'), argv: ['no-such-program'] })
  expect(exit).toMatchObject({ kind: 'refused', reason: expect.stringContaining('The program does not exist') })
})

test('names with blanks, backslashes and letters beyond ASCII are recognized', async () => {
  const root = join(above, 'a b\\c #ä')
  mkdirSync(root)
  writeFileSync(join(root, 'f'), 'INSIDE')
  expect(await outcome(pinned({ root }))).toBe('INSIDE')
  rmSync(root, { recursive: true })
})
