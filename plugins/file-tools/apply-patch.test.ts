import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createTwoFilesPatch, structuredPatch } from 'diff'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { applyHunks } from './patch/apply-hunks.js'
import { isFault } from './patch/file-change.js'
import { parsePatchText } from './patch/parse-patch-text.js'
import { openTestBench, type TestBench } from './test-bench.js'

let bench: TestBench
beforeEach(async () => {
  bench = await openTestBench()
})
afterEach(() => bench.close())

const apply = (args: object) => bench.call('apply_patch', args)
const beginPatch = (...lines: string[]) => `*** Begin Patch\n${lines.join('\n')}\n*** End Patch`

/** Few different lines, so that hunks meet look-alikes. */
const someText = fc
  .tuple(
    fc.array(fc.constantFrom('', 'a', 'b', '  c', '}', '-- d', '++ e', '\\ x', '@@ y'), { maxLength: 40 }),
    fc.boolean(),
  )
  .map(([lines, isEnded]) => lines.join('\n') + (isEnded && lines.length > 0 ? '\n' : ''))

describe('unified diffs', () => {
  test('what the diff library makes of any two texts turns the one into the other', () => {
    fc.assert(
      fc.property(
        someText,
        someText,
        fc.integer({ min: 0, max: 4 }),
        fc.boolean(),
        (before, after, context, isCrlf) => {
          const [from, to] = isCrlf
            ? [before.replaceAll('\n', '\r\n'), after.replaceAll('\n', '\r\n')]
            : [before, after]
          if (from === to) return
          const changes = parsePatchText(
            createTwoFilesPatch('f', 'f', from, to, undefined, undefined, { context }),
            undefined,
          )
          if (isFault(changes)) throw new Error(changes.message)
          const [change] = changes
          if (change?.kind !== 'update') throw new Error('no update')
          expect(applyHunks(from, change)).toBe(to)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('several files through the tool, also when lines were added above meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(someText, someText), { minLength: 1, maxLength: 4 }), async pairs => {
        const changed = pairs.filter(([before, after]) => before !== after && before !== '' && after !== '')
        if (changed.length === 0) return
        changed.forEach(([before], index) => {
          bench.put(`d/${index}.txt`, before)
        })
        const patch = changed
          .map(([before, after], index) => createTwoFilesPatch(`a/d/${index}.txt`, `b/d/${index}.txt`, before, after))
          .join('')
        const answer = await apply({ diff: patch })
        expect(answer.error).toBeUndefined()
        expect(changed.map((_, index) => bench.text(`d/${index}.txt`))).toEqual(changed.map(([, after]) => after))
      }),
      { numRuns: 60 },
    )
  })

  test('a new file of git that may be executed can be, and a change of mode alone is refused with what to do', async () => {
    const added =
      'diff --git a/s.sh b/s.sh\nnew file mode 100755\n--- /dev/null\n+++ b/s.sh\n@@ -0,0 +1 @@\n+#!/bin/sh\n'
    expect(await apply({ patch: added })).toMatchObject({ action: 'add' })
    expect(statSync(join(bench.root, 's.sh')).mode & 0o100).toBe(0o100)
    const changed = 'diff --git a/s.sh b/s.sh\nold mode 100755\nnew mode 100644\n'
    for (const patch of [changed, `${changed}--- a/s.sh\n+++ b/s.sh\n@@ -1 +1 @@\n-#!/bin/sh\n+#!/bin/bash\n`])
      expect(await apply({ patch })).toMatchObject({
        error: { code: 'invalid_patch', message: expect.stringContaining('chmod') },
      })
    expect(bench.text('s.sh')).toBe('#!/bin/sh\n')
  })

  test('a hunk whose lines moved is found again; the nearest of equals is taken', async () => {
    const before = `${Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n')}\n`
    const patch = createTwoFilesPatch('f.txt', 'f.txt', before, before.replace('line 20', 'LINE 20'))
    bench.put('f.txt', `new\nnew\n${before}`)
    expect(await apply({ patch })).toMatchObject({ path: 'f.txt', action: 'update', replacements: 1, changed: true })
    expect(bench.text('f.txt')).toBe(`new\nnew\n${before.replace('line 20', 'LINE 20')}`)
  })

  test('headers with wrong or no counts, a fence around it, and no file name at all are understood', async () => {
    bench.put('a.txt', 'one\ntwo\nthree\n')
    for (const [patch, word] of [
      ['--- a/a.txt\n+++ b/a.txt\n@@ -1,9 +1,9 @@\n one\n-two\n+2\n', '2'],
      ['```diff\n--- a.txt\n+++ a.txt\n@@\n one\n-2\n+zwei\n three\n```', 'zwei'],
      ['@@ -2 +2 @@\n-zwei\n+deux\n', 'deux'],
    ] as const) {
      expect(await apply({ unified_diff: patch, ...(patch.startsWith('@@') && { path: 'a.txt' }) })).toMatchObject({
        replacements: 1,
      })
      expect(bench.text('a.txt')).toBe(`one\n${word}\nthree\n`)
    }
  })

  test("git's additions, removals and renames", async () => {
    bench.put('old.txt', 'a\nb\n')
    bench.put('gone.txt', 'x\n')
    chmodSync(join(bench.root, 'old.txt'), 0o755)
    const patch = `diff --git a/old.txt b/sub/new.txt
similarity index 50%
rename from old.txt
rename to sub/new.txt
--- a/old.txt
+++ b/sub/new.txt
@@ -1,2 +1,2 @@
 a
-b
+c
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/made.txt b/made.txt
new file mode 100644
--- /dev/null
+++ b/made.txt
@@ -0,0 +1,2 @@
+one
+two
`
    expect([...(bench.tools.get('apply_patch')?.subject?.({ patch })?.paths ?? [])].toSorted()).toEqual([
      'gone.txt',
      'made.txt',
      'old.txt',
      'sub/new.txt',
    ])
    const { files } = await apply({ patch })
    expect(files.map((file: { action: string; path: string }) => `${file.action} ${file.path}`)).toEqual([
      'move sub/new.txt',
      'delete gone.txt',
      'add made.txt',
    ])
    expect([
      bench.text('sub/new.txt'),
      bench.text('made.txt'),
      existsSync(join(bench.root, 'old.txt')),
      existsSync(join(bench.root, 'gone.txt')),
    ]).toEqual(['a\nc\n', 'one\ntwo\n', false, false])
    expect(statSync(join(bench.root, 'sub/new.txt')).mode & 0o777).toBe(0o755)
  })
})

describe('the *** Begin Patch style', () => {
  test('adds, updates, moves and deletes', async () => {
    bench.put('a.py', 'class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        pass\n')
    bench.put('m.txt', 'x\ny\n')
    bench.put('d.txt', 'x')
    const patch = beginPatch(
      '*** Update File: a.py', '@@ class B:', '     def f(self):', '-        pass', '+        return 1',
      '*** Add File: n/new.txt', '+hello', '+', '+world',
      '*** Update File: m.txt', '*** Move to: n/moved.txt', '@@', ' x', '-y', '+z',
      '*** Delete File: d.txt',
    ) // biome-ignore format: a patch
    expect(bench.tools.get('apply_patch')?.subject?.({ patch })?.paths).toEqual([
      'a.py',
      'n/new.txt',
      'm.txt',
      'n/moved.txt',
      'd.txt',
    ])
    expect((await apply({ patch })).files).toMatchObject([
      { path: 'a.py', action: 'update', replacements: 1 },
      { path: 'n/new.txt', action: 'add', before_bytes: 0 },
      { path: 'n/moved.txt', action: 'move', moved_from: 'm.txt' },
      { path: 'd.txt', action: 'delete', after_bytes: 0 },
    ])
    expect(bench.text('a.py')).toBe(
      'class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        return 1\n',
    )
    expect([bench.text('n/new.txt'), bench.text('n/moved.txt')]).toEqual(['hello\n\nworld\n', 'x\nz\n'])
    expect(readdirSync(bench.root).toSorted()).toEqual(['a.py', 'n'])
  })

  test('a move tells the change that came with it', async () => {
    bench.put('m.txt', 'x\ny\n')
    const moving = (...lines: string[]) => apply({ patch: beginPatch('*** Update File: m.txt', ...lines) })
    expect(await moving('*** Move to: n.txt', '@@', ' x', '-y', '+zz')).toMatchObject({
      path: 'n.txt',
      moved_from: 'm.txt',
      diff: '--- a/m.txt\n+++ b/n.txt\n@@ -1,2 +1,2 @@\n x\n-y\n+zz\n',
      before_bytes: 4,
      after_bytes: 5,
    })
  })

  test('the answer for many files stays short', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `f${index}.txt`)
    const patch = beginPatch(
      ...names.flatMap(name => [`*** Add File: ${name}`, ...Array<string>(60).fill('+a line of text')]),
    )
    const answer = await apply({ patch })
    expect(answer.files).toHaveLength(150)
    expect(JSON.stringify(answer).length).toBeLessThan(65_536)
  })

  test('an update without line numbers that fits twice, or never, is refused', async () => {
    bench.put('a.txt', 'x\ny\nx\ny\n')
    const update = (...lines: string[]) => apply({ patch: beginPatch('*** Update File: a.txt', '@@', ...lines) })
    expect(await update('-y', '+z')).toMatchObject({
      error: { code: 'patch_failed', message: expect.stringContaining('lines 2, 4') },
    })
    expect(await update('-q', '+z')).toMatchObject({ error: { code: 'patch_failed', path: 'a.txt' } })
    expect(await update('-y', '+z', '*** End of File')).toMatchObject({ replacements: 1 })
    expect(bench.text('a.txt')).toBe('x\ny\nx\nz\n')
  })

  test('a patch that cannot be read names the line', async () => {
    expect(await apply({ patch: '*** Begin Patch\n*** Update File: a\n' })).toMatchObject({
      error: { code: 'invalid_patch', message: expect.stringContaining('End Patch') },
    })
    expect(await apply({ patch: beginPatch('*** Update File: a', '@@', '?what') })).toMatchObject({
      error: { message: expect.stringContaining('Line 4') },
    })
    expect(await apply({ patch: 'just words' })).toMatchObject({ error: { code: 'invalid_patch' } })
  })
})

describe('all or nothing', () => {
  const two = (second: string[]) => beginPatch('*** Update File: a.txt', '@@', '-a', '+A', ...second)

  test('one file that does not fit leaves all files alone', async () => {
    bench.put('a.txt', 'a\n')
    bench.put('b.txt', 'b\n')
    for (const second of [
      ['*** Update File: b.txt', '@@', '-nope', '+B'],
      ['*** Update File: missing.txt', '@@', '-b', '+B'],
      ['*** Add File: b.txt', '+B'],
      ['*** Add File: ../out.txt', '+B'],
      ['*** Add File: .git/hooks/pre-commit', '+B'],
      ['*** Delete File: .runwright/key'],
    ])
      expect((await apply({ patch: two(second) })).error).toBeDefined()
    expect([bench.text('a.txt'), bench.text('b.txt'), readdirSync(bench.root).toSorted()]).toEqual([
      'a\n',
      'b\n',
      ['a.txt', 'b.txt'],
    ])
  })

  test('when a write fails half way, what was written is put back', async () => {
    bench.put('a.txt', 'a\n')
    bench.put('b.txt', 'b\n')
    const cut = 'n'.repeat(255)
    // The name fits by itself, but the file system will not take what the path becomes: a folder where a file is.
    const answer = await apply({
      patch: two(['*** Add File: x', '+1', '*** Add File: x/y', '+1', `*** Add File: ${cut}`, '+1']),
    })
    expect(answer.error).toBeDefined()
    expect([bench.text('a.txt'), readdirSync(bench.root).toSorted()]).toEqual(['a\n', ['a.txt', 'b.txt']])
  })
})

describe('edits and find/replace', () => {
  test('edits are applied one after the other, or not at all', async () => {
    bench.put('a.txt', 'one two two\n')
    expect(
      await apply({
        file_path: 'a.txt',
        edits: [
          { old_string: 'one', new_string: 'two' },
          { old_text: 'two', new_text: '2', replace_all: true },
        ],
      }),
    ).toMatchObject({ path: 'a.txt', replacements: 4, changed: true })
    expect(bench.text('a.txt')).toBe('2 2 2\n')
    expect(
      await apply({
        path: 'a.txt',
        edits: [
          { old_text: '2 2 2', new_text: 'x' },
          { old_text: 'nope', new_text: 'y' },
        ],
      }),
    ).toMatchObject({ error: { edit: 2, message: expect.stringContaining('No edit was applied') } })
    expect(bench.text('a.txt')).toBe('2 2 2\n')
  })

  test('find and replace, the n-th of several', async () => {
    bench.put('a.txt', 'x x x\n')
    expect(await apply({ path: 'a.txt', find: 'x', replace: 'y' })).toMatchObject({
      error: { code: 'ambiguous_match', matches: 3 },
    })
    expect(await apply({ path: 'a.txt', find: 'x', replace: 'y', occurrence: 2 })).toMatchObject({ replacements: 1 })
    expect(bench.text('a.txt')).toBe('x y x\n')
    expect(await apply({ path: 'a.txt', find: 'x', replace: 'y', occurrence: 9 })).toMatchObject({
      error: { matches: 2 },
    })
    expect(await apply({ path: 'a.txt', find: 'x' })).toMatchObject({ error: { code: 'invalid_arguments' } })
    expect(await apply({ path: 'a.txt' })).toMatchObject({ error: { code: 'invalid_arguments' } })
    expect(await apply({ find: 'x', replace: 'y' })).toMatchObject({ error: { code: 'invalid_arguments' } })
  })
})

test('a hostile patch against a file of equal lines ends soon', () => {
  const text = 'x\n'.repeat(150_000)
  const hunk = {
    header: 'hunk 1',
    anchors: [],
    isAtEnd: false,
    lines: [...Array(5000).fill({ op: ' ', text: 'x\n' }), { op: '-', text: 'y\n' }],
  }
  const before = process.cpuUsage()
  expect(applyHunks(text, { kind: 'update', path: 'f', hunks: [hunk] })).toMatchObject({
    message: expect.stringContaining('too long'),
  })
  expect(process.cpuUsage(before).user).toBeLessThan(3_000_000)
})

test('blanks without end, and anchors without number, cost no more than others', async () => {
  bench.put('wide.txt', `${' '.repeat(1_000_000)}x\n`.repeat(9))
  bench.put('long.txt', 'x\n'.repeat(150_000))
  const blanks = ' '.repeat(800_000)
  const update = (path: string, ...lines: string[]) =>
    apply({ patch: beginPatch(`*** Update File: ${path}`, ...lines) })
  const started = performance.now()
  expect(await update('long.txt', `@@ ${blanks}y`, '-z')).toMatchObject({ error: { code: 'patch_failed' } })
  expect(await update('long.txt', '@@', `-z${blanks}`)).toMatchObject({ error: { code: 'patch_failed' } })
  expect(await update('wide.txt', ...Array<string[]>(900).fill(['@@ x', '-q']).flat())).toMatchObject({
    error: { code: 'patch_failed' },
  })
  expect(await update('long.txt', ...Array<string[]>(450).fill(['@@ nowhere', '@@ x']).flat(), '-z')).toMatchObject({
    error: { code: 'patch_failed' },
  })
  expect(performance.now() - started).toBeLessThan(3000)
})

test('a file may hold the words that end a patch', async () => {
  bench.put('doc.md', 'before\n*** End of File\n*** End Patch\nafter\n')
  bench.put('b.txt', 'b\n')
  const patch = beginPatch(
    '*** Update File: doc.md',
    '@@',
    ' *** End of File',
    ' *** End Patch',
    '-after',
    '+AFTER',
    '*** Update File: b.txt',
    '@@',
    '-b',
    '+B',
  )
  expect((await apply({ patch })).files).toHaveLength(2)
  expect([bench.text('doc.md'), bench.text('b.txt')]).toEqual([
    'before\n*** End of File\n*** End Patch\nAFTER\n',
    'B\n',
  ])
})

test('a file that a patch adds and deletes again was not changed', async () => {
  const patch = beginPatch('*** Add File: dup', '+1', '*** Delete File: dup')
  expect(await apply({ patch })).toMatchObject({ path: 'dup', action: 'none', changed: false, version: '' })
  expect(existsSync(join(bench.root, 'dup'))).toBe(false)
})

test('of two patches in one text none is dropped in silence', async () => {
  bench.put('a.txt', 'a\n')
  bench.put('b.txt', 'b\n')
  const one = (name: string) => beginPatch(`*** Update File: ${name}.txt`, '@@', `-${name}`, '+new')
  expect(await apply({ patch: `${one('a')}\n${one('b')}\n` })).toMatchObject({
    error: { code: 'invalid_patch', message: expect.stringContaining('one patch') },
  })
  expect([bench.text('a.txt'), bench.text('b.txt')]).toEqual(['a\n', 'b\n'])
})

test('diffs shown are right at every place of a long file', async () => {
  const { describeChange } = await import('./change-diff.js')
  fc.assert(
    fc.property(someText, someText, (before, after) => {
      const wanted = structuredPatch('', '', before, after, '', '', { context: 3 }).hunks
      const shown = describeChange('f', before, after)
      if (before === after) return shown === ''
      const change = parsePatchText(shown, undefined)
      if (isFault(change) || change[0]?.kind !== 'update') throw new Error(shown)
      expect(applyHunks(before, change[0])).toBe(after)
      return wanted.length > 0
    }),
    { numRuns: 1000 },
  )
})
