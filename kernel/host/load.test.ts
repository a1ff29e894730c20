import { existsSync, utimesSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, truncate, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { createHostBench, entry, type HostBench } from '#test/kit/host-bench'
import { Loader } from './load.js'
import { Shelf } from './shelf.js'

let bench: HostBench | undefined
afterEach(async () => {
  vi.useRealTimers()
  await bench?.close()
  bench = undefined
})

const HOUR_MS = 60 * 60 * 1000
const LONG_AGO = new Date(Date.now() - 2 * HOUR_MS)

const TYPED = {
  'index.ts': entry(
    'typed',
    'const said: string = word; scope.tap("runAdmitting", async () => [said, await late(), fail])',
    {
      head: `import { word } from './word.ts'\nimport type { Word } from './types.js'\nimport { fail } from './fail.js'\nconst late = async (): Promise<Word> => (await import('./late.js')).late`,
    },
  ),
  'word.ts': `export const word: string = "one from './late.ts'"`,
  'types.ts': 'export type Word = string',
  'late.ts': `import data from './data.json' with { type: 'json' }\nexport const late = data.late as string`,
  'data.json': '{ "late": "late one" }',
  'fail.ts': `interface Unused { a: 1 }\n\nexport function fail(): never {\n  throw new Error('here')\n}`,
}

test('a TypeScript folder runs, with either kind of specifier, and its errors point to its own lines', async () => {
  bench = await createHostBench({ typed: TYPED })
  await bench.host.sync()
  const [word, late, fail] = (await bench.host.current.hooks.runAdmitting.promise({} as never)) as unknown as [
    string,
    string,
    () => never,
  ]
  expect([word, late]).toEqual([`one from './late.ts'`, 'late one'])
  expect(fail).toThrow('here')
  const staged = await stagedDir(bench, 'typed')
  const map = (await readFile(join(staged, 'fail.js'), 'utf8')).split('base64,')[1] ?? ''
  const { sources } = JSON.parse(Buffer.from(map, 'base64').toString()) as { sources: string[] }
  expect(join(staged, sources[0] ?? '')).toBe(join(bench.dir, 'plugins/typed/fail.ts'))
})

test('tests, declarations, hidden files and package manifests are not staged; packages are linked', async () => {
  bench = await createHostBench({
    neat: {
      'index.js': entry('neat', '', {
        head: `import { gift } from 'gift'\nif (gift !== 1) throw new Error('no gift')`,
      }),
      'neat.test.js': 'throw new Error()',
      'index.d.ts': 'nonsense',
      '.hidden.js': 'nonsense',
      'package.json': '{ "name": "neat", "type": "commonjs" }',
      'node_modules/gift/package.json': '{ "name": "gift", "type": "module", "main": "index.js" }',
      'node_modules/gift/index.js': 'export const gift = 1',
      'prompts/hello.md': 'hello',
    },
  })
  await bench.host.sync()
  const staged = await stagedDir(bench, 'neat')
  expect((await readdir(staged)).toSorted()).toEqual(['.sealed', 'index.js', 'node_modules', 'prompts'])
})

test('a plugin outside the house imports the contracts by package name', async () => {
  const text = entry('guest', '').replace('#contracts/plugin', 'runwright/contracts')
  bench = await createHostBench({ guest: { 'index.ts': text } })
  expect((await bench.host.sync()).opened).toEqual(['guest'])
})

test('a staged copy that a power cut has torn is written anew', async () => {
  bench = await createHostBench({ typed: TYPED })
  const source = { name: 'typed', dir: join(bench.dir, 'plugins/typed'), origin: 'configured' as const }
  const root = join(bench.dir, 'torn-shelf')
  await new Loader(new Shelf(root), 1000).load(source)
  const [name = ''] = await readdir(root)
  await truncate(join(root, name, 'word.js'), 3)
  await new Loader(new Shelf(root), 1000).load(source)
  expect(await readFile(join(root, name, 'word.js'), 'utf8')).toContain('one from')
  expect(await readdir(root)).toEqual([name])
})

test('two processes may stage the same text at once', async () => {
  bench = await createHostBench({ typed: TYPED })
  const source = { name: 'typed', dir: join(bench.dir, 'plugins/typed'), origin: 'configured' as const }
  const root = join(bench.dir, 'shared-shelf')
  const loaded = await Promise.all([1, 2, 3, 4].map(() => new Loader(new Shelf(root), 1000).load(source)))
  expect(new Set(loaded.map(({ stagedDir: dir }) => dir)).size).toBe(1)
  expect(await readdir(root)).toHaveLength(1)
})

test('boot prunes copies nobody uses that are an hour old, and no others', async () => {
  bench = await createHostBench({ typed: TYPED })
  const shelf = join(bench.dir, 'shelf')
  for (const name of ['old@1', 'young@1']) await mkdir(join(shelf, name), { recursive: true })
  await utimes(join(shelf, 'old@1'), LONG_AGO, LONG_AGO)
  await bench.host.sync()
  await bench.host.close()
  expect((await readdir(shelf)).filter(name => !name.startsWith('typed@'))).toEqual(['young@1'])
})

test('a copy that a running daemon may still import from is kept from others that boot, until it closes', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  bench = await createHostBench({ typed: TYPED })
  await bench.host.sync()
  const staged = await stagedDir(bench, 'typed')
  const shelf = new Shelf(join(bench.dir, 'shelf'))
  const anotherBoots = () => shelf.prune(() => false)
  for (let hour = 0; hour < 3; hour++) {
    await utimes(staged, LONG_AGO, LONG_AGO)
    vi.advanceTimersByTime(HOUR_MS)
    await vi.waitUntil(async () => (await stat(staged)).mtimeMs > LONG_AGO.getTime(), { timeout: 30_000 })
    await anotherBoots()
  }
  expect(await bench.host.current.hooks.runAdmitting.promise({} as never)).toContain('late one')
  await bench.host.close()
  await utimes(staged, LONG_AGO, LONG_AGO)
  vi.advanceTimersByTime(HOUR_MS)
  await anotherBoots()
  expect(existsSync(staged)).toBe(false)
})

test('a copy that is asked for while another daemon prunes it is whole afterwards', async () => {
  bench = await createHostBench({ typed: TYPED })
  await bench.host.sync()
  const staged = await stagedDir(bench, 'typed')
  await utimes(staged, LONG_AGO, LONG_AGO)
  const shelf = new Shelf(join(bench.dir, 'shelf'))
  const before = await readdir(staged)
  await shelf.prune(dir => {
    utimesSync(dir, new Date(), new Date())
    return false
  })
  expect(await readdir(staged)).toEqual(before)
  expect(await readdir(shelf.root)).toHaveLength(1)
})

test('a shelf that was wiped while running is filled again', async () => {
  bench = await createHostBench({ typed: TYPED })
  await bench.host.sync()
  const staged = await stagedDir(bench, 'typed')
  await rm(staged, { recursive: true })
  expect((await bench.host.sync()).isChanged).toBe(false)
  expect(await readdir(staged)).toContain('late.js')
})

async function stagedDir({ dir }: HostBench, plugin: string): Promise<string> {
  const name = (await readdir(join(dir, 'shelf'))).find(entryName => entryName.startsWith(`${plugin}@`))
  return join(dir, 'shelf', name ?? '')
}
