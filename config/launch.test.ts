import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SETTING_ROWS } from './schema.js'
import { isSecretName } from './secrets.js'

// A small product of its own with the real launcher, the real npm and the real compiler.
const ours = resolve(import.meta.dirname, '../..')
const fixture = mkdtempSync(join(tmpdir(), 'runwright-launch-'))
const write = (file: string, text: string) => {
  mkdirSync(dirname(join(fixture, file)), { recursive: true })
  writeFileSync(join(fixture, file), text)
}
const main = (line: string) =>
  `import { writeFileSync } from 'node:fs'\nexport const main = async (args: string[]): Promise<number> => {\n  ${line}\n}\n`
const echo = main("writeFileSync(1, JSON.stringify([args, process.env['CANARY_API_KEY']])); return 7")

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly said: string
}
async function ended(child: ChildProcess): Promise<Ended> {
  const text = { out: '', said: '' }
  child.stdout?.on('data', chunk => (text.out += chunk))
  child.stderr?.on('data', chunk => (text.said += chunk))
  const [code] = await once(child, 'close')
  return { code, ...text }
}
const launch = (args: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
  ended(spawn(process.execPath, ['config/launch.mjs', ...args], { cwd: fixture, env }))

beforeAll(() => {
  cpSync(join(ours, 'config/launch.mjs'), join(fixture, 'config/launch.mjs'))
  cpSync(join(ours, 'config/launch'), join(fixture, 'config/launch'), { recursive: true })
  const link = (name: string) => `file:${realpathSync(join(ours, 'node_modules', name))}`
  const dependencies = { typescript: link('typescript'), '@types/node': link('@types/node') }
  write('package.json', JSON.stringify({ name: 'small', version: '1.0.0', type: 'module', dependencies }))
  const compilerOptions = { target: 'es2022', module: 'nodenext', outDir: 'dist', rootDir: '.', types: ['node'] }
  write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['kernel', 'plugins'] }))
  write('kernel/main.ts', echo)
  write('kernel/old.ts', 'export const old = 1\n')
  execFileSync('npm', ['install', '--package-lock-only', '--offline'], { cwd: fixture, stdio: 'ignore' })
}, 60_000)
afterAll(() => rmSync(fixture, { recursive: true, force: true }))

test('the first start installs, compiles and runs; the next ones only run', async () => {
  const first = await launch(['start', '--port', '1'], { ...process.env, CANARY_API_KEY: 'given' })
  expect(first).toMatchObject({ code: 7, out: '[["serve","--port","1"],"given"]' })
  expect(first.said).toMatch(/installing packages.*npm ci.*compiling 2 files.*compiled in/s)
  expect(await launch(['start'])).toMatchObject({ code: 7, said: '' })
}, 60_000)

test('packages that somebody installed by hand are not installed again', async () => {
  rmSync(join(fixture, 'node_modules/.runwright-install.json'))
  expect(await launch(['start'])).toMatchObject({ code: 7, said: '' })
})

test('a changed source is compiled again, and the output of a deleted one goes', async () => {
  write('kernel/main.ts', echo.replace('return 7', 'return 8'))
  expect(await launch(['start'])).toMatchObject({ code: 8, said: expect.stringContaining('compiling 2 files') })
  rmSync(join(fixture, 'kernel/old.ts'))
  expect((await launch(['start'])).code).toBe(8)
  expect(existsSync(join(fixture, 'dist/kernel/old.js'))).toBe(false)
})

test('what a plugin ships in its folder content stands beside its code, and goes when it goes', async () => {
  const shipped = join(fixture, 'dist/plugins/probe/content/deep/a.md')
  write('plugins/probe/content/deep/a.md', 'one')
  await launch(['build'])
  expect(readFileSync(shipped, 'utf8')).toBe('one')
  write('plugins/probe/content/deep/a.md', 'other')
  await launch(['build'])
  expect(readFileSync(shipped, 'utf8')).toBe('other')
  rmSync(join(fixture, 'plugins'), { recursive: true })
  await launch(['build'])
  expect(existsSync(shipped)).toBe(false)
})

test('a source that does not compile is not run, now or at the next start', async () => {
  write('kernel/main.ts', main('return "eight"'))
  for (const attempt of [await launch(['start']), await launch(['start'])]) {
    expect(attempt.code).not.toBe(0)
    expect(attempt.said).toContain('the sources do not compile')
  }
  write('kernel/main.ts', echo)
})

test('a changed lockfile installs again', async () => {
  const lock = join(fixture, 'package-lock.json')
  execFileSync('npm', ['pkg', 'set', 'version=1.0.1'], { cwd: fixture })
  execFileSync('npm', ['install', '--package-lock-only', '--offline'], { cwd: fixture, stdio: 'ignore' })
  expect(existsSync(lock)).toBe(true)
  expect((await launch(['build'])).said).toContain('installed packages are not those of package-lock.json')
}, 60_000)

test('without what confines commands, and without the means to install it, the command to type is printed', async () => {
  const path = join(fixture, 'path')
  mkdirSync(path)
  symlinkSync(process.execPath, join(path, 'node'))
  const bare = await launch(['demo'], { PATH: path })
  expect(bare.code).toBe(1)
  expect(bare.said).toContain('apt-get update && apt-get install -y bubblewrap slirp4netns')
  writeFileSync(join(path, 'bwrap'), '', { mode: 0o755 })
  const { said } = await launch(['demo'], { PATH: path })
  expect(said).toMatch(/slirp4netns.*is missing: commands get no network/)
  expect(said).not.toContain('bubblewrap')
})

test('a word it does not know is answered with those it does', async () => {
  expect(await launch(['strat'])).toMatchObject({ code: 1, said: expect.stringContaining('start | demo | bench') })
})

test('a signal reaches the program, and its exit code comes back', async () => {
  const program = 'process.on("SIGTERM", () => process.exit(9)); console.log("up"); setInterval(() => {}, 1e6)'
  const launcher = `
    import { spawnThrough } from ${JSON.stringify(pathToFileURL(join(ours, 'config/launch/process.mjs')).href)}
    await spawnThrough([process.execPath, '-e', ${JSON.stringify(program)}]).catch(stop => { process.exitCode = stop.code })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', launcher])
  const end = ended(child)
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  expect(await end).toMatchObject({ code: 9, out: 'up\n' })
})

test('set-up programs inherit no secret', async () => {
  const { cleanEnvironment } = await import(pathToFileURL(join(ours, 'config/launch/process.mjs')).href)
  const names = [...SETTING_ROWS.flatMap(([, row]) => row.env ?? []), 'OPENAI_API_KEY', 'GH_TOKEN', 'PATH', 'HOME']
  const clean = Object.keys(cleanEnvironment(Object.fromEntries(names.map(name => [name, 'x']))))
  expect(names.filter(name => !clean.includes(name))).toEqual(names.filter(isSecretName))
  expect(Object.keys(cleanEnvironment({ NODE_AUTH_TOKEN: 'x', NPM_TOKEN: 'y' }))).toEqual([
    'NODE_AUTH_TOKEN',
    'NPM_TOKEN',
  ])
})
