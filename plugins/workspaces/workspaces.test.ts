import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { plugin } from './index.js'
import { checkRoots, rootsOf } from './roots.js'

describePlugin(plugin, { dir: import.meta.dirname })

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-roots-'))
  await mkdir(join(dir, 'allowed/inner'), { recursive: true })
  await mkdir(join(dir, 'allowed-not'))
  await writeFile(join(dir, 'allowed/file'), '')
  await symlink(join(dir, 'allowed-not'), join(dir, 'allowed/way-out'))
})
afterAll(() => rm(dir, { recursive: true }))

describe('the directories of a request', () => {
  const check = (request: object, roots: readonly string[] = []) => checkRoots({ prompt: 'hi', ...request }, roots)

  test.each([
    ['relative', 'must be an absolute path'],
    ['/nowhere/at/all', 'there is no /nowhere/at/all'],
    ['/dev/null', '/dev/null is not a directory'],
    ['/tmp\0/x', 'must be an absolute path'],
  ])('%j is refused with its field', async (path, says) => {
    await expect(check({ workspace_path: path })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(`workspace_path: ${says}`),
    })
    await expect(check({ extra_dirs: [tmpdir(), path] })).rejects.toThrow(`extra_dirs[1]: ${says}`)
  })

  test('may be anywhere until the operator says where', async () => {
    await check({ workspace_path: dir, extra_dirs: ['/'] })
    await check({})
  })

  test('must then lie below, also by their real path', async () => {
    const roots = [join(dir, 'allowed')]
    await check({ workspace_path: join(dir, 'allowed'), extra_dirs: [join(dir, 'allowed/inner')] }, roots)
    for (const outside of ['allowed-not', 'allowed/way-out', 'allowed/..', '.'])
      await expect(check({ workspace_path: join(dir, outside) }, roots)).rejects.toThrow('not below a directory')
    await check({ workspace_path: join(dir, 'allowed') }, ['/'])
  })
})

test('a run works where its request says, else nobody has an opinion', () => {
  const of = (request: object) =>
    rootsOf(fakeRun({ request: { prompt: 'hi', ...request }, workspace: { root: '/w', extraDirs: [] } }))
  expect([of({}), of({ extra_dirs: [] }), of({ workspace_path: '/a' }), of({ extra_dirs: ['/b'] })]).toEqual([
    undefined,
    undefined,
    { root: '/a', extraDirs: [] },
    { root: '/w', extraDirs: ['/b'] },
  ])
})
