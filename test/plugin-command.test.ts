import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createClient } from '#test/kit/boot'
import { PACKAGE_DIR, runCommand, serveCommand } from '#test/kit/cli-process'

let dir: string
const undos: (() => unknown)[] = []
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-author-'))
})
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
  await rm(dir, { recursive: true })
})

/** A daemon as an operator starts it, with this directory of plugins and fake turns. */
async function serve(turns: readonly object[], more: Readonly<Record<string, string>> = {}) {
  const file = join(dir, 'turns.json')
  await writeFile(file, JSON.stringify(turns))
  const daemon = await serveCommand(['--addr', '127.0.0.1:0'], {
    cwd: dir,
    environment: {
      HOME: dir,
      SVC_WORKSPACE: dir,
      SVC_PROVIDER: 'fake',
      SVC_FAKE_TURNS: file,
      SVC_PLUGIN_DIRS: join(dir, 'mine'),
      SVC_WATCH_INTERVAL_SECONDS: '0.2',
      ...more,
    },
  })
  undos.push(daemon.stop)
  return { ...daemon, ...createClient(daemon.url) }
}

const CALL = (name: string, args: object) => ({
  content: '',
  tool_calls: [{ id: 'call_1', name, arguments: JSON.stringify(args) }],
})
const rowOf = (body: { readonly plugins: readonly { readonly name: string }[] }, plugin: string) =>
  body.plugins.find(({ name }) => name === plugin)

test('plugin new writes a plugin that plugin check passes, a daemon runs and hot-reloads, and its own test proves', async () => {
  expect(await runCommand(['plugin', 'new', 'word-count', '--dir', 'mine'], { cwd: dir })).toMatchObject({ code: 0 })
  const checked = await runCommand(['plugin', 'check', 'mine/word-count'], { cwd: dir })
  expect(checked).toMatchObject({ code: 0, err: '', out: expect.stringContaining('word-count keeps the contract') })

  const turns = [CALL('word_count', { text: 'one two three' }), { content: 'counted' }]
  const daemon = await serve([...turns, ...turns])
  const { body } = await daemon.request('GET', '/v1/plugins')
  expect(rowOf(body, 'word-count')).toMatchObject({
    state: 'running',
    origin: 'configured',
    adds: { tools: ['word_count'] },
  })
  const resultOf = async () =>
    (await daemon.run('count')).find(({ type }) => type === 'tool.call.completed')?.payload?.output
  expect(await resultOf()).toBe('{"words":3}')
  const logic = join(dir, 'mine/word-count/count-words.ts')
  await writeFile(logic, (await readFile(logic, 'utf8')).replace('words: text', 'counted: text'))
  const generation = async () =>
    Reflect.get(rowOf((await daemon.request('GET', '/v1/plugins')).body, 'word-count') ?? {}, 'generation')
  const before = Reflect.get(rowOf(body, 'word-count') ?? {}, 'generation')
  await expect.poll(generation, { timeout: 30_000 }).not.toBe(before)
  expect(await resultOf()).toBe('{"counted":3}')

  // The author's own project: the package and a test runner beside the plugin.
  await mkdir(join(dir, 'node_modules'))
  await symlink(PACKAGE_DIR, join(dir, 'node_modules/runwright'))
  for (const name of ['vitest', '@sinclair'])
    await symlink(join(PACKAGE_DIR, 'node_modules', name), join(dir, 'node_modules', name))
  await writeFile(logic, (await readFile(logic, 'utf8')).replace('counted: text', 'words: text'))
  const vitest = join(PACKAGE_DIR, 'node_modules/vitest/vitest.mjs')
  const own = await runCommand(['run', '--root', 'mine', '--reporter', 'json'], { cwd: dir, program: vitest })
  expect(JSON.parse(own.out.slice(own.out.indexOf('{'))), own.err).toMatchObject({ success: true, numFailedTests: 0 })
}, 40_000)

describe.each([
  ['examples/tool-plugin/working-days'],
  ['examples/provider-plugin/parrot'],
  ['examples/provider-plugin/acme'],
  ['plugins/budgets'],
])('%s', folder => {
  test('passes plugin check', async () => {
    const report = await runCommand(['plugin', 'check', folder, '--json'], { cwd: PACKAGE_DIR })
    expect(report.err).toBe('')
    const { ok, cases } = JSON.parse(report.out)
    expect({ ok, isWhole: cases.length >= 11, code: report.code }).toEqual({ ok: true, isWhole: true, code: 0 })
  })
})

test('plugin check says what a leaky plugin leaves behind, and ends all the same', async () => {
  await runCommand(['plugin', 'new', 'leaky', '--dir', 'mine'], { cwd: dir })
  const file = join(dir, 'mine/leaky/index.ts')
  const text = await readFile(file, 'utf8')
  await writeFile(
    file,
    text.replace(
      'register(scope) {',
      'register(scope) {\n    setInterval(() => {}, 50); void Promise.reject(new Error("forgotten"))',
    ),
  )
  const { code, out } = await runCommand(['plugin', 'check', 'mine/leaky'], { cwd: dir })
  expect({ code, failed: out.split('\n').filter(line => line.startsWith('✗')) }).toEqual({
    code: 1,
    failed: [
      '✗ registering starts no timer, server or watch',
      '✗ opening, starting and closing it 10 times leaves no handle and no complaint',
      '✗ no promise of it is rejected with nobody listening',
    ],
  })
})

test('the program starts through a link, as npx starts it', async () => {
  const program = join(dir, 'runwright')
  await symlink(join(PACKAGE_DIR, 'dist/kernel/main.js'), program)
  const { version } = JSON.parse(await readFile(join(PACKAGE_DIR, 'package.json'), 'utf8'))
  expect(await runCommand(['--version'], { program })).toEqual({ code: 0, out: `${version}\n`, err: '' })
})

test('what a plugin leaves uncaught, late rejections and throws in timers, is shown with it and ends nothing', async () => {
  await runCommand(['plugin', 'new', 'careless', '--dir', 'mine'], { cwd: dir })
  const file = join(dir, 'mine/careless/index.ts')
  const careless = (code: string) => async () => {
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace(/register\(scope\) \{.*/, `register(scope) { ${code}`))
  }
  const daemon = await serve([{ content: 'fine' }, { content: 'still fine' }], { SVC_WATCH_ENABLED: 'false' })
  const lastError = async () =>
    Reflect.get(rowOf((await daemon.request('GET', '/v1/plugins')).body, 'careless') ?? {}, 'last_error')
  await careless(`setTimeout(() => Promise.reject(new Error('late no')), 1)`)()
  await daemon.request('POST', '/v1/config/reload')
  await expect.poll(lastError).toBe('nobody caught: late no')
  expect((await daemon.run('go')).at(-1)?.payload?.output).toBe('fine')
  await careless(`setTimeout(() => { throw new Error('late throw') }, 1)`)()
  await daemon.request('POST', '/v1/config/reload')
  await expect.poll(lastError).toBe('nobody caught: late throw')
  expect((await daemon.run('go')).at(-1)?.payload?.output).toBe('still fine')
})
