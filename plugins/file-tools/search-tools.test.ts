import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openTestBench, type TestBench } from './test-bench.js'

let bench: TestBench
beforeEach(async () => {
  bench = await openTestBench()
})
afterEach(() => bench.close())

describe('ls', () => {
  beforeEach(() => {
    for (const path of ['b.txt', 'a/x/y.txt', 'a/w.txt', '.env', 'node_modules/m/i.js', '.git/config'])
      bench.put(path, '')
    symlinkSync('a', join(bench.root, 'link'))
    symlinkSync('../outside', join(bench.root, 'out'))
  })

  test('lists one folder sorted, with what kind of thing it is', async () => {
    expect(await bench.call('ls', {})).toEqual({
      path: '.',
      entries: ['a/', 'b.txt', 'link@', 'node_modules/', 'out@'],
      truncated: false,
    })
    expect(await bench.call('ls', { path: 'a' })).toEqual({ path: 'a', entries: ['w.txt', 'x/'], truncated: false })
    expect((await bench.call('ls', { include_hidden: true })).entries.slice(0, 2)).toEqual(['.env', '.git/'])
  })

  test('goes down as far as told, never through links', async () => {
    expect((await bench.call('ls', { recursive: true })).entries).toEqual([
      'a/',
      'a/w.txt',
      'a/x/',
      'a/x/y.txt',
      'b.txt',
      'link@',
      'node_modules/',
      'out@',
    ])
    expect((await bench.call('ls', { depth: 1 })).entries).not.toContain('a/x/y.txt')
    expect(await bench.call('ls', { recursive: true, max_entries: 3 })).toMatchObject({
      entries: ['a/', 'a/w.txt', 'a/x/'],
      truncated: true,
    })
    expect(await bench.call('ls', { path: 'out' })).toMatchObject({ error: { code: 'outside_workspace' } })
    expect(await bench.call('ls', { path: 'b.txt' })).toMatchObject({ error: { code: 'not_a_directory' } })
    expect(await bench.call('ls', { depth: 51 })).toEqual({ error: { code: 'schema' } })
  })
})

test('lists of long names end at 64 KiB, and say so', async () => {
  for (let index = 0; index < 300; index++) bench.put(`${'n'.repeat(240)}/${'m'.repeat(200)}${index}`, '')
  const found = await bench.call('glob', { pattern: '**' })
  const listed = await bench.call('ls', { recursive: true, max_entries: 2000 })
  expect([found.truncated, found.matches.join().length < 65_536]).toEqual([true, true])
  expect([listed.truncated, listed.entries.join().length < 65_536]).toEqual([true, true])
})

describe('glob', () => {
  test.each([
    ['**/*.ts', ['a.ts', 'src/b.ts', 'src/deep/c.ts']],
    ['*.ts', ['a.ts']],
    ['src/**', ['src/b.ts', 'src/d.tsx', 'src/deep/c.ts']],
    ['src/**/*.{ts,tsx}', ['src/b.ts', 'src/d.tsx', 'src/deep/c.ts']],
    ['**/[a-b].ts', ['a.ts', 'src/b.ts']],
    ['**/[!a].ts', ['src/b.ts', 'src/deep/c.ts']],
    ['src/?.ts*', ['src/b.ts', 'src/d.tsx']],
    ['{src/deep,other}/*.ts', ['src/deep/c.ts']],
    ['.github/**/*.yml', ['.github/w/ci.yml']],
    ['**/*.yml', []],
    ['node_modules/*/i.js', ['node_modules/m/i.js']],
    ['./a.ts', ['a.ts']],
    ['none/*.ts', []],
    ['**/secret', []],
  ])('%s', async (pattern, matches) => {
    for (const path of ['a.ts', 'src/b.ts', 'src/d.tsx', 'src/deep/c.ts', '.github/w/ci.yml', 'node_modules/m/i.js'])
      bench.put(path, '')
    symlinkSync('../outside', join(bench.root, 'out'))
    expect(await bench.call('glob', { pattern })).toEqual({ pattern, matches, truncated: false })
  })

  test('absolute patterns, bounds and hostile patterns', async () => {
    bench.put(`${'a'.repeat(250)}`, '')
    bench.put('b/c', '')
    expect((await bench.call('glob', { pattern: `${bench.root}/b/*` })).matches).toEqual(['b/c'])
    expect(await bench.call('glob', { pattern: '**', max_matches: 1 })).toMatchObject({ truncated: true })
    expect(await bench.call('glob', { pattern: '../*' })).toMatchObject({ error: { code: 'invalid_pattern' } })
    expect(await bench.call('glob', { pattern: '/etc/*' })).toMatchObject({ error: { code: 'outside_workspace' } })
    const started = performance.now()
    expect((await bench.call('glob', { pattern: `${'*a'.repeat(400)}*b` })).matches).toEqual([])
    expect(await bench.call('glob', { pattern: '{a,b}'.repeat(30) })).toMatchObject({
      error: { code: 'invalid_pattern' },
    })
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})

describe('grep', () => {
  beforeEach(() => {
    bench.put('a.ts', 'const Foo = 1\nfoo(bar)\n')
    bench.put('src/b.ts', 'import foo\n')
    bench.put('.hidden', 'foo\n')
    bench.put('ignored.log', 'foo\n')
    bench.put('.gitignore', '*.log\n')
    bench.put('node_modules/m.js', 'foo\n')
    bench.put('.git/x', 'foo\n')
    bench.put('.runwright/key', 'foo\n')
  })
  const found = async (args: object) =>
    (await bench.call('grep', args)).matches.map(
      (match: { path: string; line_number: number }) => `${match.path}:${match.line_number}`,
    )

  test('finds lines in order, by default as plain text in any case', async () => {
    expect(await bench.call('grep', { query: 'foo(' })).toEqual({
      query: 'foo(',
      matches: [{ path: 'a.ts', line_number: 2, line: 'foo(bar)' }],
      truncated: false,
    })
    expect(await found({ query: 'foo' })).toEqual(['.hidden:1', 'a.ts:1', 'a.ts:2', 'src/b.ts:1'])
    expect(await found({ pattern: 'Foo', case_sensitive: true })).toEqual(['a.ts:1'])
    expect(await found({ query: '^f.o', regex: true })).toEqual(['.hidden:1', 'a.ts:2'])
    expect(await found({ query: 'f.o', regex: true, literal_text: true })).toEqual([])
    expect(await found({ query: 'foo', path: 'src' })).toEqual(['src/b.ts:1'])
    expect(await found({ query: 'foo', path: 'src/b.ts' })).toEqual(['src/b.ts:1'])
    expect(await found({ query: 'foo', path: 'ignored.log' })).toEqual(['ignored.log:1'])
    expect(await bench.call('grep', { query: 'foo', max_matches: 2 })).toMatchObject({
      truncated: true,
      matches: { length: 2 },
    })
  })

  test('a query is never an option', async () => {
    bench.put('opt.txt', '--files\n-e\n--pre=touch pwned\n')
    expect(await found({ query: '--files' })).toEqual(['opt.txt:1'])
    expect(await found({ query: '--pre=touch pwned' })).toEqual(['opt.txt:3'])
    expect(readdirSync(bench.root)).not.toContain('pwned')
  })

  test('a bad expression is told with its place', async () => {
    expect(await bench.call('grep', { query: 'ab(c', regex: true })).toMatchObject({
      error: { code: 'invalid_query', position: 2, message: expect.stringContaining('unclosed group') },
    })
    expect(await bench.call('grep', { query: 'a\nb' })).toMatchObject({ error: { code: 'invalid_query' } })
    expect(await bench.call('grep', { query: 'x', path: '.runwright' })).toMatchObject({
      error: { code: 'protected_path' },
    })
    expect(await bench.call('grep', { query: 'x', path: 'none' })).toMatchObject({ error: { code: 'not_found' } })
  })

  test('long lines are cut around the match, endless ones left out', async () => {
    bench.put('min.js', `${'x'.repeat(5000)}NEEDLE${'y'.repeat(5000)}\n`)
    bench.put('huge.js', `${'x'.repeat(3_000_000)}NEEDLE\n`)
    const { matches, truncated } = await bench.call('grep', { query: 'NEEDLE' })
    expect(matches).toHaveLength(1)
    expect(matches[0].line).toContain('NEEDLE')
    expect(matches[0].line.length).toBeLessThan(600)
    expect(truncated).toBe(true)
  })

  test('the end of a line is before its carriage return', async () => {
    bench.put('dos.txt', 'foo;\r\nbar;\r\n')
    expect(await bench.call('grep', { query: 'o;$', regex: true, path: 'dos.txt' })).toMatchObject({
      matches: [{ line_number: 1, line: 'foo;' }],
    })
  })

  test('an answer stays readable: 64 KiB of lines at most, no character cut in two', async () => {
    bench.put('wide.txt', `${'ä'.repeat(240)} needle ${'ü'.repeat(240)}\n`.repeat(1000))
    const { matches, truncated } = await bench.call('grep', { query: 'needle', max_matches: 2000 })
    const chars = matches.reduce((sum: number, { line }: { line: string }) => sum + line.length, 0)
    expect([truncated, chars > 30_000, chars <= 65_536]).toEqual([true, true, true])
    expect(matches[0].line).toMatch(/^\.\.\.ä+ needle ü+\.\.\.$/)
  })

  test('links to files outside are not searched, also not by name', async () => {
    symlinkSync('../outside/secret', join(bench.root, 'out'))
    expect(await found({ query: 'SECRET' })).toEqual([])
    expect(await bench.call('grep', { query: 'SECRET', path: 'out' })).toMatchObject({
      error: { code: 'outside_workspace' },
    })
  })

  test('stops at once when the run is cancelled and leaves no process', async () => {
    for (let index = 0; index < 16; index++)
      writeFileSync(join(bench.root, `big${index}`), 'abcdefgh'.repeat(1_000_000))
    const cancel = new AbortController()
    setTimeout(() => cancel.abort(new Error('cancelled')), 20)
    const query = '(a|b|c|d|e|f|g|h){200}z'
    expect(await bench.call('grep', { query, regex: true }, { signal: cancel.signal })).toEqual({ error: 'cancelled' })
    const children = readdirSync('/proc').filter(pid => {
      try {
        return /^\d+$/.test(pid) && Number(statusField(pid)) === process.pid && commandOf(pid).includes('ripgrep')
      } catch {
        return false
      }
    })
    expect(children).toEqual([])
  })
})

const statusField = (pid: string) => /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
const commandOf = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, 'utf8')
