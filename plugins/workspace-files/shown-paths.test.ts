import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FileAccess } from '#contracts/workspace-files'
import { createConfinedFiles } from './confined-files.js'

const files = createConfinedFiles({ hidden_names: ['.runwright'], protected_names: ['.git'], protected_paths: [] })
let root = ''
let access: FileAccess
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'shown-'))
  mkdirSync(join(root, '.runwright/deep'), { recursive: true })
  for (const name of ['plan.md', 'secret', 'deep/secret']) writeFileSync(join(root, '.runwright', name), name)
  access = {
    root,
    extraDirs: [],
    hiddenPaths: [join(root, '.runwright')],
    shownPaths: ['.runwright/plan.md'],
    isReadOnly: true,
    writablePaths: ['.runwright/plan.md'],
  }
})
afterEach(() => rmSync(root, { recursive: true }))

const outcome = async (path: string, from = access): Promise<string> => {
  const read = await files.read(from, path, 1000)
  return read.kind === 'refused' ? read.code : read.kind
}

describe('a file that stays shown in a hidden place', () => {
  test.each(['.runwright/plan.md', './.runwright//plan.md'])('%s is read and replaced', async path => {
    expect(await outcome(path)).toBe('content')
    expect(await files.replace(access, path, Buffer.from('new'))).toMatchObject({ kind: 'written' })
    expect(readFileSync(join(root, '.runwright/plan.md'), 'utf8')).toBe('new')
  })

  test('it is made, with the hidden place, where neither is', async () => {
    rmSync(join(root, '.runwright'), { recursive: true })
    expect(await files.replace(access, '.runwright/plan.md', Buffer.from('new'))).toMatchObject({ isNew: true })
  })

  test.each([
    '.runwright/secret',
    '.runwright/deep/secret',
    '.runwright',
    '.runwright/',
    '.runwright/plan.md/x',
    'l/secret',
  ])('%s stays closed', async path => {
    symlinkSync('.runwright', join(root, 'l'))
    expect(await outcome(path)).toMatch(/protected_path|not_a_directory/)
    expect(await files.replace(access, path, Buffer.from('x'))).toMatchObject({ kind: 'refused' })
    expect(readFileSync(join(root, '.runwright/secret'), 'utf8')).toBe('secret')
  })

  test('a link in its place shows nothing else', async () => {
    rmSync(join(root, '.runwright/plan.md'))
    symlinkSync('secret', join(root, '.runwright/plan.md'))
    expect(await outcome('.runwright/plan.md')).toBe('protected_path')
    expect(await files.replace(access, '.runwright/plan.md', Buffer.from('x'))).toMatchObject({
      code: 'protected_path',
    })
  })

  test('listings leave the hidden place out', async () => {
    const seen: string[] = []
    for await (const entry of files.walk(access, '.', { depth: 9 }, new AbortController().signal)) seen.push(entry.path)
    expect(seen).toEqual([])
    expect(await files.hold(access, '.runwright')).toMatchObject({ code: 'protected_path' })
  })

  test('without being named it is closed like the rest', async () => {
    const { shownPaths: _, ...plain } = access
    expect(await outcome('.runwright/plan.md', plain)).toBe('protected_path')
  })
})
