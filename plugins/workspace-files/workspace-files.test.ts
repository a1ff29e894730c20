import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FileAccess } from '#contracts/workspace-files'
import { describePlugin } from '#test/kit/describe-plugin'
import { createConfinedFiles } from './confined-files.js'
import { plugin } from './index.js'
import { createTurns } from './turns.js'

describePlugin(plugin, { dir: import.meta.dirname })

const config = { hidden_names: ['.runwright'], protected_names: ['.git'], protected_paths: ['locked'] }
const turns = createTurns()
const files = createConfinedFiles(config, turns)
const bytes = (text: string) => new TextEncoder().encode(text)

let base: string
let access: FileAccess

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-files-')))
  for (const folder of ['ws/sub/deep', 'ws/.git/hooks', 'ws/.runwright', 'ws-evil', 'extra', 'outside'])
    mkdirSync(join(base, folder), { recursive: true })
  writeFileSync(join(base, 'ws/a.txt'), 'inside\n')
  writeFileSync(join(base, 'ws/sub/deep/b.txt'), 'deep\n')
  writeFileSync(join(base, 'extra/e.txt'), 'extra\n')
  for (const secret of ['outside/secret', 'ws-evil/secret', 'ws/.runwright/secret'])
    writeFileSync(join(base, secret), 'SECRET')
  access = { root: join(base, 'ws'), extraDirs: [join(base, 'extra')] }
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const read = async (path: string, by: FileAccess = access) => {
  const found = await files.read(by, path, 1_000_000)
  return found.kind === 'content' ? new TextDecoder().decode(found.bytes) : found.code
}
const write = async (path: string, text = 'new', by: FileAccess = access) => {
  const written = await files.replace(by, path, bytes(text))
  return written.kind === 'written' ? written.path : written.code
}

describe('a pinned root', () => {
  const pinned = () => ({ ...access, isPinned: true })
  const swap = (name: string) => {
    renameSync(join(base, name), join(base, 'moved'))
    symlinkSync(join(base, 'outside'), join(base, name))
  }
  const listed = async (by: FileAccess) => {
    for await (const entry of files.walk(by, '.', { depth: 1 }, AbortSignal.timeout(5000)))
      return 'code' in entry ? entry.code : entry.path
    return 'nothing'
  }

  test('that was replaced by a link is refused, whatever is wanted of it', async () => {
    swap('ws')
    const by = pinned()
    expect([
      await read('secret', by),
      await read(join(base, 'ws/secret'), by),
      await write('new', 'x', by),
      await listed(by),
      ((await files.hold(by, '.')) as { code?: string }).code,
      ((await files.resolve(by, 'secret', 'read')) as { code?: string }).code,
      await read(join(base, 'extra/e.txt'), by),
    ]).toEqual([...Array(6).fill('outside_workspace'), 'extra\n'])
    expect(readdirSync(join(base, 'outside'))).toEqual(['secret'])
  })

  test('holds for further directories too', async () => {
    swap('extra')
    expect([await read(join(base, 'extra/secret'), pinned()), await read('a.txt', pinned())]).toEqual([
      'outside_workspace',
      'inside\n',
    ])
  })

  test('that is what it was works as ever, and one that is not pinned may be a link', async () => {
    expect([await read('a.txt', pinned()), await read('sub/../a.txt', pinned())]).toEqual(['inside\n', 'inside\n'])
    symlinkSync(join(base, 'ws'), join(base, 'linked'))
    expect(await read('a.txt', { root: join(base, 'linked'), extraDirs: [] })).toBe('inside\n')
  })
})

describe('reading', () => {
  test('links that stay inside work, in every way of writing them', async () => {
    symlinkSync('sub/deep', join(base, 'ws/in'))
    symlinkSync('../../a.txt', join(base, 'ws/sub/deep/up'))
    symlinkSync(join(base, 'ws/a.txt'), join(base, 'ws/absolute'))
    symlinkSync(join(base, 'extra/e.txt'), join(base, 'ws/to-extra'))
    expect(
      await Promise.all(
        ['in/b.txt', 'in/up', 'sub/deep/up', 'absolute', 'to-extra', 'in/../../a.txt'].map(path => read(path)),
      ),
    ).toEqual(['deep\n', 'inside\n', 'inside\n', 'inside\n', 'extra\n', 'inside\n'])
  })

  test('links that lead out are refused, at the end and on the way', async () => {
    symlinkSync(join(base, 'outside'), join(base, 'ws/out'))
    symlinkSync('../outside/secret', join(base, 'ws/out-file'))
    symlinkSync('out', join(base, 'ws/twice'))
    symlinkSync('/proc/self/environ', join(base, 'ws/env'))
    symlinkSync('loop', join(base, 'ws/loop'))
    expect(
      await Promise.all(['out/secret', 'out-file', 'twice/secret', 'env', 'loop'].map(path => read(path))),
    ).toEqual(['outside_workspace', 'outside_workspace', 'outside_workspace', 'outside_workspace', 'invalid_path'])
  })

  test('a root that is itself a link is followed, and its real name is understood', async () => {
    symlinkSync(join(base, 'ws'), join(base, 'linked'))
    const linked: FileAccess = { root: join(base, 'linked'), extraDirs: [] }
    expect(await Promise.all([read('a.txt', linked), read(join(base, 'ws/a.txt'), linked)])).toEqual([
      'inside\n',
      'inside\n',
    ])
  })

  test('a root in procfs is refused', async () => {
    expect(await read('environ', { root: '/proc/self', extraDirs: [] })).toBe('not_a_file')
  })

  test('an opened file stays the same file when its name goes to another', async () => {
    const opened = await files.open(access, 'a.txt')
    if (opened.kind === 'refused') throw new Error(opened.message)
    rmSync(join(base, 'ws/a.txt'))
    symlinkSync(join(base, 'outside/secret'), join(base, 'ws/a.txt'))
    expect(new TextDecoder().decode(await opened.read(0, 100))).toBe('inside\n')
    opened.close()
  })

  test('a file above the limit is too large, also a sparse giant, without reading it', async () => {
    writeFileSync(join(base, 'ws/giant'), '')
    truncateSync(join(base, 'ws/giant'), 2 ** 40)
    expect(await read('giant')).toBe('too_large')
  })

  test('what is hidden from the run is not read under any name', async () => {
    symlinkSync('sub/deep', join(base, 'ws/in'))
    const narrowed = { ...access, hiddenPaths: [join(base, 'ws/sub/deep')] }
    expect(
      await Promise.all(
        ['sub/deep/b.txt', 'in/b.txt', 'sub/deep/none', '.runwright/secret', '.RUNWRIGHT/x'].map(path =>
          read(path, narrowed),
        ),
      ),
    ).toEqual(Array(5).fill('protected_path'))
  })
})

describe('writing', () => {
  test('makes parents, keeps permission bits, leaves no temporary file', async () => {
    writeFileSync(join(base, 'ws/run.sh'), 'old')
    chmodSync(join(base, 'ws/run.sh'), 0o4755)
    expect([await write('x/y/z.txt'), await write('run.sh'), await write(join(base, 'extra/n.txt'))]).toEqual([
      'x/y/z.txt',
      'run.sh',
      join(base, 'extra/n.txt'),
    ])
    expect(statSync(join(base, 'ws/run.sh')).mode & 0o7777).toBe(0o755)
    expect(readdirSync(join(base, 'ws'), { recursive: true }).filter(name => String(name).endsWith('.tmp'))).toEqual([])
  })

  test('goes through a link that stays inside and never through one that leads out', async () => {
    symlinkSync('a.txt', join(base, 'ws/alias'))
    symlinkSync('../outside/made', join(base, 'ws/dangling'))
    symlinkSync(join(base, 'outside/secret'), join(base, 'ws/out'))
    expect([await write('alias'), await write('dangling'), await write('out')]).toEqual([
      'a.txt',
      'outside_workspace',
      'outside_workspace',
    ])
    expect(readlinkSync(join(base, 'ws/alias'))).toBe('a.txt')
    expect(readdirSync(join(base, 'outside'))).toEqual(['secret'])
  })

  test('a hard link to a file outside is replaced, the file outside stays', async () => {
    linkSync(join(base, 'outside/secret'), join(base, 'ws/hard'))
    await write('hard')
    expect(readFileSync(join(base, 'outside/secret'), 'utf8')).toBe('SECRET')
  })

  test('control files are refused, existing or not, however they are named', async () => {
    symlinkSync('.git', join(base, 'ws/git-alias'))
    symlinkSync('sub/.git', join(base, 'ws/future'))
    const control = [
      '.git/hooks/pre-commit', '.git/config', '.git', '.GIT/config', 'sub/.git/hooks/x', 'sub/.git/config', 'new/.git/config',
      'git-alias/hooks/x', 'git-alias/config', 'future/config', '.runwright/key', 'sub/.runwright/x', './a/../.git/config',
      'locked', 'locked/x', join(base, 'ws/.git/config'),
    ] // biome-ignore format: a table
    mkdirSync(join(base, 'ws/a'))
    expect(await Promise.all(control.map(async path => [path, await write(path)]))).toEqual(
      control.map(path => [path, 'protected_path']),
    )
    expect(readdirSync(join(base, 'ws/.git'))).toEqual(['hooks'])
    expect(readdirSync(join(base, 'ws'))).not.toContain('new')
    expect(await read('.git/hooks')).toBe('is_a_directory')
  })

  test('a read-only run writes its writable paths and nothing else', async () => {
    const planning: FileAccess = { ...access, isReadOnly: true, writablePaths: ['plan.md', join(base, 'ws/notes')] }
    symlinkSync('a.txt', join(base, 'ws/notes-link'))
    expect(
      await Promise.all(
        ['plan.md', 'notes/n.md', 'a.txt', 'notes-link', 'other/new', 'plan.md.bak', 'notes/../a.txt'].map(path =>
          write(path, 'x', planning),
        ),
      ),
    ).toEqual([
      'plan.md',
      'notes/n.md',
      'read_only',
      'read_only',
      'read_only',
      'read_only',
      expect.stringMatching(/read_only|not_found/),
    ])
    expect(readdirSync(join(base, 'ws'))).not.toContain('other')
  })

  test('of many writers that know the same version one wins', async () => {
    const found = await files.read(access, 'a.txt', 100)
    const version = found.kind === 'content' ? found.version : ''
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        files.replace(access, 'a.txt', bytes(`w${index}`), { expectedVersion: version }),
      ),
    )
    const winners = outcomes.flatMap((outcome, index) => (outcome.kind === 'written' ? [`w${index}`] : []))
    expect(winners).toHaveLength(1)
    expect(
      outcomes
        .filter(outcome => outcome.kind === 'refused')
        .every(outcome => 'code' in outcome && outcome.code === 'stale_write'),
    ).toBe(true)
    expect(await read('a.txt')).toBe(winners[0])
    expect(turns.queues.size).toBe(0)
  })

  test('the version of no file is the empty text', async () => {
    const create = () => files.replace(access, 'fresh', bytes('x'), { expectedVersion: '', mode: 0o755 })
    expect([await create(), await create()]).toMatchObject([
      { kind: 'written', isNew: true },
      { code: 'stale_write', expectedVersion: '' },
    ])
    expect(statSync(join(base, 'ws/fresh')).mode & 0o100).toBe(0o100)
    expect(await files.replace(access, 'gone', bytes('x'), { expectedVersion: 'abc' })).toMatchObject({
      code: 'stale_write',
      actualVersion: '',
    })
  })

  test('removes regular files only, and only the known version', async () => {
    symlinkSync('a.txt', join(base, 'ws/alias'))
    const remove = async (path: string, expectedVersion?: string) => {
      const outcome = await files.remove(access, path, expectedVersion === undefined ? {} : { expectedVersion })
      return outcome.kind === 'removed' ? 'removed' : outcome.code
    }
    expect([
      await remove('alias'),
      await remove('sub'),
      await remove('.git/hooks'),
      await remove('none'),
      await remove('a.txt', 'wrong'),
      await remove('a.txt', files.versionOf(bytes('inside\n'))),
    ]).toEqual(['not_a_file', 'is_a_directory', 'protected_path', 'not_found', 'stale_write', 'removed'])
  })
})

test('a walk shows links without following them, leaves out what is hidden, and enters where it may', async () => {
  symlinkSync('../outside', join(base, 'ws/sub/out'))
  const seen: string[] = []
  const options = { depth: 9, mayEnter: (relative: string) => relative !== '.git' }
  for await (const entry of files.walk(access, '.', options, AbortSignal.timeout(5000)))
    if ('relative' in entry) seen.push(`${entry.relative} ${entry.kind}`)
  expect(seen).toEqual([
    '.git directory', 'a.txt file', 'sub directory', 'sub/deep directory', 'sub/deep/b.txt file', 'sub/out link',
  ]) // biome-ignore format: a list
})

test('resolve names what is meant and touches nothing', async () => {
  symlinkSync('sub/deep', join(base, 'ws/in'))
  expect([
    await files.resolve(access, 'in/new/x.txt', 'write'),
    await files.resolve(access, 'in/../deep/b.txt', 'read'),
    await files.resolve(access, 'new/.git/config', 'write'),
  ]).toMatchObject([
    { path: 'sub/deep/new/x.txt', is: 'missing' },
    { path: 'sub/deep/b.txt', is: 'file' },
    { code: 'protected_path' },
  ])
  expect(readdirSync(join(base, 'ws/sub/deep'))).toEqual(['b.txt'])
})

test('nothing is left open', async () => {
  symlinkSync('loop', join(base, 'ws/loop'))
  const open = () => readdirSync('/proc/self/fd').length
  await read('a.txt')
  const before = open()
  for (const path of [
    'a.txt',
    'sub',
    'loop',
    '../x',
    'none/x',
    '.git/config',
    'a.txt/x',
    'sub/../sub/deep/b.txt',
    '.',
  ]) {
    await read(path)
    await write(path)
    await files.remove(access, path)
    await files.resolve(access, path, 'write')
    const held = await files.hold(access, path)
    if (held.kind === 'held') held.close()
    for await (const _ of files.walk(access, path, { depth: 2 }, AbortSignal.timeout(5000))) if (path === '.') break
  }
  expect(open()).toBe(before)
})

test('special files are refused at once', async () => {
  execFileSync('mkfifo', [join(base, 'ws/fifo')])
  symlinkSync('/dev/zero', join(base, 'ws/zero'))
  const started = performance.now()
  expect([await read('fifo'), await write('fifo'), await read('zero'), await write('zero')]).toEqual([
    'not_a_file', 'not_a_file', 'outside_workspace', 'outside_workspace',
  ]) // biome-ignore format: a list
  expect(await read('zero', { root: '/dev', extraDirs: [] })).toBe('not_a_file')
  expect(performance.now() - started).toBeLessThan(10_000)
})
