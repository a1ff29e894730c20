import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { testEnvironment } from '../testing/test-environment.js'

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
})

test('plugin new writes a whole plugin and never overwrites one', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'runwright-new-'))
  folders.push(cwd)
  const first = await testEnvironment({ cwd }).run('plugin', 'new', 'word-count')
  expect(first).toMatchObject({ code: 0, err: '', out: expect.stringContaining('runwright plugin check word-count') })
  expect((await readdir(join(cwd, 'word-count'))).sort()).toEqual([
    'README.md',
    'config.ts',
    'count-words.ts',
    'index.ts',
    'word-count.test.ts',
  ])
  expect(await readFile(join(cwd, 'word-count/index.ts'), 'utf8')).toContain("name: 'word-count'")
  const elsewhere = join(cwd, 'elsewhere')
  const away = await testEnvironment({ cwd: join(cwd, 'word-count') }).run('plugin', 'new', 'other', '--dir', elsewhere)
  expect(away.out).toContain(`wrote ${elsewhere}/other: `)
  const again = await testEnvironment({ cwd }).run('plugin', 'new', 'word-count')
  expect(again).toMatchObject({ code: 1, out: '', err: expect.stringContaining('is already there') })
})
