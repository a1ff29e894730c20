import { chmodSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isParallelSafe, mayMutate } from '#contracts/tool/tool'
import { describePlugin } from '#test/kit/describe-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { plugin } from './index.js'
import { openTestBench, type TestBench } from './test-bench.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

let bench: TestBench
beforeEach(async () => {
  bench = await openTestBench()
})
afterEach(() => bench.close())

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('')

test('a byte order mark does not hide the first line from its hash', async () => {
  bench.put('bom.txt', '\ufeffone\ntwo\n')
  const { content } = await bench.call('read', { path: 'bom.txt', hash_lines: true })
  const [mark = ''] = content.split('|')
  const edit = { path: 'bom.txt', old_text: 'one', new_text: 'eins', start_line_hash: mark, end_line_hash: mark }
  expect(await bench.call('edit', edit)).toMatchObject({ replacements: 1 })
  expect(bench.text('bom.txt')).toBe('\ufeffeins\ntwo\n')
})

test('what a change shows of itself is short, and cut between lines', async () => {
  const { diff, after_bytes } = await bench.call('write', { path: 'new.txt', content: lines(600) })
  expect(after_bytes).toBe(lines(600).length)
  expect(diff.length).toBeLessThan(4_200)
  expect(diff).toMatch(/\n\+line \d+\n\(diff cut: \d+ more lines\)\n$/)
})

test('the catalog is the one of the reference', () => {
  const rows = [...bench.tools.values()].map(tool => [tool.name, tool.action, mayMutate(tool), isParallelSafe(tool)])
  expect(rows).toEqual([
    ['read', 'read', false, true],
    ['write', 'write', true, false],
    ['edit', 'write', true, false],
    ['apply_patch', 'write', true, false],
    ['file_inspect', 'read', false, true],
    ['ls', 'list', false, true],
    ['glob', 'list', false, true],
    ['grep', 'read', false, true],
  ])
})

describe('read', () => {
  test('answers content and a version that follows the content', async () => {
    bench.put('a.txt', 'one\n')
    const first = await bench.call('read', { file_path: './a.txt' })
    bench.put('a.txt', 'two\n')
    const second = await bench.call('read', { path: join(bench.root, 'a.txt') })
    expect(first).toMatchObject({ path: 'a.txt', content: 'one\n', truncated: false, total_lines: 1 })
    expect(first.version).toMatch(/^[0-9a-f]{16}$/)
    expect(second).toMatchObject({ path: 'a.txt', content: 'two\n' })
    expect(second.version).not.toBe(first.version)
  })

  test('pieces put together are the file', async () => {
    const whole = lines(5000)
    bench.put('long.txt', whole)
    let content = ''
    let offset: number | undefined = 0
    while (offset !== undefined) {
      const piece = await bench.call('read', { path: 'long.txt', offset, max_bytes: 1000 })
      expect(piece.content.length).toBeLessThanOrEqual(1000)
      content += piece.content
      offset = piece.truncated ? piece.next_offset : undefined
    }
    expect(content).toBe(whole)
  })

  test('a window by lines, and one behind the end', async () => {
    bench.put('a.txt', lines(10))
    expect(await bench.call('read', { path: 'a.txt', offset: 3, limit: 2 })).toMatchObject({
      content: 'line 4\nline 5\n',
      truncated: true,
      next_offset: 5,
    })
    expect(await bench.call('read', { path: 'a.txt', offset: 8 })).toMatchObject({
      content: 'line 9\nline 10\n',
      truncated: false,
    })
    expect(await bench.call('read', { path: 'a.txt', offset: 99 })).toMatchObject({
      content: '',
      truncated: false,
      note: expect.stringContaining('10 lines'),
    })
  })

  test('never cuts a character', async () => {
    bench.put('wide.txt', 'äöü€😀'.repeat(50))
    for (let max_bytes = 1; max_bytes < 40; max_bytes++) {
      const { content, truncated } = await bench.call('read', { path: 'wide.txt', max_bytes })
      expect('äöü€😀'.repeat(50).startsWith(content)).toBe(true)
      expect(truncated).toBe(true)
    }
  })

  test('is honest about what is not text', async () => {
    bench.put('binary', new Uint8Array([1, 0, 2]))
    bench.put('latin', new Uint8Array([0x68, 0xe9, 0x0a]))
    bench.put('empty', '')
    expect(await bench.call('read', { path: 'binary' })).toMatchObject({ binary: true, content: '', size_bytes: 3 })
    expect(await bench.call('read', { path: 'latin' })).toMatchObject({
      content: 'h\ufffd\n',
      note: expect.stringContaining('UTF-8'),
    })
    expect(await bench.call('read', { path: 'empty' })).toMatchObject({ content: '', truncated: false, total_lines: 0 })
    expect(await bench.call('edit', { path: 'latin', old_text: 'h', new_text: 'x' })).toMatchObject({
      error: { code: 'not_text' },
    })
  })

  test('a sparse giant is read in a window and refused for changes', async () => {
    bench.put('giant', 'head\n')
    truncateSync(join(bench.root, 'giant'), 2 ** 40)
    expect(await bench.call('read', { path: 'giant', limit: 1 })).toMatchObject({ content: 'head\n', truncated: true })
    expect(await bench.call('read', { path: 'giant', offset: 7 })).toMatchObject({
      content: '',
      note: expect.stringContaining('64 MiB'),
    })
    for (const [tool, args] of [
      ['edit', { old_text: 'head', new_text: 'x' }],
      ['write', { content: 'x', append: true }],
      ['apply_patch', { find: 'head', replace: 'x' }],
    ] as const)
      expect(await bench.call(tool, { path: 'giant', ...args })).toMatchObject({ error: { code: 'too_large' } })
  })

  test('its limits are checked', async () => {
    bench.put('a.txt', 'x')
    for (const bad of [{ max_bytes: 0 }, { max_bytes: 1_048_577 }, { offset: -1 }, { limit: 0 }, { path: '' }])
      expect(await bench.call('read', { path: 'a.txt', ...bad })).toEqual({ error: { code: 'schema' } })
    expect(await bench.call('read', { path: 'none' })).toMatchObject({ error: { code: 'not_found', path: 'none' } })
    expect(await bench.call('read', { path: '.' })).toMatchObject({ error: { code: 'is_a_directory' } })
  })
})

describe('write', () => {
  test('creates, replaces and appends, and tells the difference', async () => {
    const created = await bench.call('write', { path: 'new/a.txt', content: 'a\n' })
    const appended = await bench.call('write', { path: 'new/a.txt', text: 'b\n', append: true })
    const same = await bench.call('write', { path: 'new/a.txt', new_text: 'a\nb\n' })
    expect([created, appended, same]).toMatchObject([
      { path: 'new/a.txt', bytes_written: 2, appended: false, before_bytes: 0, after_bytes: 2, changed: true },
      {
        bytes_written: 2,
        appended: true,
        before_bytes: 2,
        after_bytes: 4,
        changed: true,
        diff: expect.stringContaining('+b'),
      },
      { changed: false, diff: '', version: appended.version },
    ])
    expect(bench.text('new/a.txt')).toBe('a\nb\n')
    expect((await bench.call('read', { path: 'new/a.txt' })).version).toBe(same.version)
  })

  test('without content nothing is wiped', async () => {
    bench.put('a.txt', 'keep')
    expect(await bench.call('write', { path: 'a.txt' })).toEqual({ error: { code: 'schema' } })
    expect(bench.text('a.txt')).toBe('keep')
  })

  test('a version that is not the present one is a stale write, in every writing tool', async () => {
    bench.put('a.txt', 'now\n')
    const { version } = await bench.call('read', { path: 'a.txt' })
    const stale = { error: { code: 'stale_write', path: 'a.txt', expected_version: 'old', actual_version: version } }
    const base = { path: 'a.txt', expected_version: 'old' }
    expect([
      await bench.call('write', { ...base, content: 'x' }),
      await bench.call('edit', { ...base, old_text: 'now', new_text: 'x' }),
      await bench.call('apply_patch', { ...base, find: 'now', replace: 'x' }),
      await bench.call('apply_patch', { ...base, patch: '@@ -1 +1 @@\n-now\n+x\n' }),
    ]).toMatchObject([stale, stale, stale, stale])
    expect(bench.text('a.txt')).toBe('now\n')
    expect(await bench.call('write', { path: 'none', content: 'x', expected_version: 'old' })).toMatchObject({
      error: { actual_version: '' },
    })
  })
})

describe('edit', () => {
  test('replaces what stands there once, or all of it', async () => {
    bench.put('a.ts', 'let a = 1\nlet b = 1\n')
    const one = await bench.call('edit', { path: 'a.ts', old_string: 'let a = 1', new_string: 'let a = 2' })
    expect(one).toMatchObject({ path: 'a.ts', replacements: 1, before_bytes: 20, after_bytes: 20, changed: true })
    expect(one.diff).toBe('--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n-let a = 1\n+let a = 2\n let b = 1\n')
    expect(
      await bench.call('edit', { path: 'a.ts', old_text: 'let', new_text: 'const', replace_all: true }),
    ).toMatchObject({ replacements: 2 })
    expect(bench.text('a.ts')).toBe('const a = 2\nconst b = 1\n')
  })

  test('what does not fit is answered with a way on', async () => {
    bench.put('a.ts', 'function f() {\n  return 1\n}\nfunction g() {\n  return 1\n}\n')
    const edit = async (old_text: string) => (await bench.call('edit', { path: 'a.ts', old_text, new_text: 'x' })).error
    expect(await edit('return 1')).toMatchObject({ code: 'ambiguous_match', matches: 2, lines: [2, 5] })
    expect(await edit('function g() {\n  return 2')).toMatchObject({
      matches: 0,
      message: expect.stringContaining('line 5 is "  return 1"'),
    })
    expect(await edit('function f() {\n    return 1')).toMatchObject({ message: expect.stringContaining('blank') })
    expect(await edit('FUNCTION F')).toMatchObject({ message: expect.stringContaining('Line 1') })
    expect(await edit('zebra')).toMatchObject({ message: expect.stringContaining('No line is like') })
    expect(await edit('1:0a0b0c0d|function f() {')).toMatchObject({ message: expect.stringContaining('prefixes') })
    expect(await edit('')).toMatchObject({ code: 'invalid_arguments' })
    expect(await bench.call('edit', { path: 'no.ts', old_text: 'a', new_text: 'b' })).toMatchObject({
      error: { code: 'not_found' },
    })
  })

  test('line hashes of read bound where to look', async () => {
    bench.put('a.ts', 'function f() {\n  return 1\n}\nfunction g() {\n  return 1\n}\n')
    const { content } = await bench.call('read', { path: 'a.ts', hash_lines: true })
    const marks = content.split('\n').map((line: string) => line.split('|')[0])
    const edit = (bounds: object) =>
      bench.call('edit', { path: 'a.ts', old_text: 'return 1', new_text: 'return 2', ...bounds })
    expect(await edit({ start_line_hash: '9:00000000' })).toMatchObject({ error: { code: 'line_not_found' } })
    expect(await edit({ start_line_hash: marks[4].split(':')[1] })).toMatchObject({ error: { code: 'ambiguous_line' } })
    expect(await edit({ start_line_hash: marks[3], end_line_hash: marks[0] })).toMatchObject({
      error: { code: 'invalid_arguments' },
    })
    expect(await edit({ start_line_hash: marks[3], end_line_hash: marks[5] })).toMatchObject({ replacements: 1 })
    expect(bench.text('a.ts')).toBe('function f() {\n  return 1\n}\nfunction g() {\n  return 2\n}\n')
  })

  test('line ends of a CRLF file stay', async () => {
    bench.put('dos.txt', 'a\r\nb\r\nc\r\n')
    await bench.call('edit', { path: 'dos.txt', old_text: 'a\nb', new_text: 'x\ny' })
    expect(bench.text('dos.txt')).toBe('x\r\ny\r\nc\r\n')
  })

  test('a replacement that would blow the file up is refused before it is built', async () => {
    bench.put('a.txt', 'a'.repeat(100_000))
    const outcome = await bench.call('edit', {
      path: 'a.txt',
      old_text: 'a',
      new_text: 'b'.repeat(10_000),
      replace_all: true,
    })
    expect(outcome).toMatchObject({ error: { code: 'too_large' } })
  })

  test('a text that nearly stands everywhere is looked for in one pass', async () => {
    const nearly = `${'a'.repeat(200)}b${'a'.repeat(20_000)}`
    bench.put('a.txt', 'a'.repeat(5_000_000))
    const edit = (path: string, old_text: string) => bench.call('edit', { path, old_text, new_text: 'x' })
    const started = performance.now()
    expect(await edit('a.txt', nearly)).toMatchObject({ error: { code: 'not_found_in_file' } })
    expect(performance.now() - started).toBeLessThan(2000)
    bench.put('b.txt', `a${nearly}a\n${nearly}`)
    expect(await edit('b.txt', nearly)).toMatchObject({ error: { code: 'ambiguous_match', matches: 2, lines: [1, 2] } })
    expect(await edit('b.txt', `a\n${nearly}`)).toMatchObject({ replacements: 1 })
    expect(bench.text('b.txt')).toBe(`a${nearly}x`)
  })

  test('of two edits that know the same version one wins; without versions both do', async () => {
    bench.put('a.txt', 'one\ntwo\n')
    const { version } = await bench.call('read', { path: 'a.txt' })
    const both = (expected_version: string | undefined, mark: string) =>
      Promise.all(
        ['one', 'two'].map(word =>
          bench.call('edit', {
            path: 'a.txt',
            old_text: word,
            new_text: `${word}${mark}`,
            ...(expected_version && { expected_version }),
          }),
        ),
      )
    const codes = (await both(version, '!')).map(outcome => outcome.error?.code ?? 'ok')
    expect(codes.toSorted()).toEqual(['ok', 'stale_write'])
    bench.put('a.txt', 'one\ntwo\n')
    await both(undefined, '?')
    expect(bench.text('a.txt')).toBe('one?\ntwo?\n')
  })

  test('permission bits stay', async () => {
    bench.put('run.sh', 'old')
    chmodSync(join(bench.root, 'run.sh'), 0o750)
    await bench.call('edit', { path: 'run.sh', old_text: 'old', new_text: 'new' })
    expect(statSync(join(bench.root, 'run.sh')).mode & 0o777).toBe(0o750)
  })
})
