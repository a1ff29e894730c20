import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { boot } from '#test/kit/boot'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { plugin } from './index.js'
import { pinnedRoots, withRealRoots } from './roots.js'

describePlugin(plugin, { dir: import.meta.dirname })

let dir: string
beforeAll(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'runwright-roots-')))
  await mkdir(join(dir, 'allowed/inner'), { recursive: true })
  await mkdir(join(dir, 'allowed-not'))
  await writeFile(join(dir, 'allowed/file'), '')
  await symlink(join(dir, 'allowed-not'), join(dir, 'allowed/way-out'))
})
afterAll(() => rm(dir, { recursive: true }))

describe('the directories of a request', () => {
  const check = (request: object, roots: readonly string[] = []) => withRealRoots({ prompt: 'hi', ...request }, roots)

  test.each([
    ['relative', 'must be an absolute path'],
    ['/nowhere/at/all', 'there is no /nowhere/at/all'],
    ['/dev/null', '/dev/null is not a directory'],
    ['/tmp\0/x', 'must be an absolute path'],
    ['/proc', '/proc belongs to the kernel'],
    ['/proc/self', '/proc/self belongs to the kernel'],
    ['/proc/self/task/..', '/proc/self/task/.. belongs to the kernel'],
    ['/sys/kernel', '/sys/kernel belongs to the kernel'],
    ['/dev', '/dev belongs to the kernel'],
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

test('what passes is known by its real path from then on', async () => {
  await symlink(join(dir, 'allowed/inner'), join(dir, 'link'))
  const request = { prompt: 'hi', workspace_path: join(dir, 'link'), extra_dirs: [`${dir}/allowed/../allowed-not`] }
  expect(await withRealRoots(request, [])).toEqual({
    prompt: 'hi',
    workspace_path: join(dir, 'allowed/inner'),
    extra_dirs: [join(dir, 'allowed-not')],
  })
})

test('a run works where its request says, pinned, else nobody has an opinion', async () => {
  const of = (request: object) =>
    pinnedRoots(fakeRun({ request: { prompt: 'hi', ...request }, workspace: { root: dir, extraDirs: [] } }))
  const inner = join(dir, 'allowed/inner')
  expect([
    await of({}),
    await of({ extra_dirs: [] }),
    await of({ workspace_path: inner }),
    await of({ extra_dirs: [inner] }),
  ]).toEqual([
    undefined,
    undefined,
    { root: inner, extraDirs: [], isPinned: true },
    { root: dir, extraDirs: [inner], isPinned: true },
  ])
})

describe('a directory that another run replaces by a link', () => {
  const call = (name: string, args: object) => ({ content: '', tool_calls: [{ name, arguments: args }] })

  test('is used by no tool of the run that works there', async () => {
    const live = await boot({
      turns: [
        { ...call('read', { path: 'secret' }), delay_ms: 200 },
        call('write', { path: 'planted', content: 'x' }),
        call('bash', { command: 'cat secret; touch planted' }),
        { content: 'done' },
      ],
    })
    const outside = await mkdtemp(join(dir, 'outside-'))
    await writeFile(join(outside, 'secret'), 'SECRET')
    const project = join(live.workspace, 'project')
    await mkdir(project)
    const id = await live.start({ prompt: 'go', workspace_path: project })
    await live.until(id, 'llm.turn.requested')
    await rename(project, `${project}-moved`)
    await symlink(outside, project)
    const results = (await live.events(id)).filter(({ type }) => type === 'tool.call.completed')
    await live.stop()
    expect(results.map(({ payload }) => payload?.error)).toEqual(Array(3).fill(expect.stringContaining(project)))
    expect(JSON.stringify(results)).not.toContain('SECRET')
    expect(await readdir(outside)).toEqual(['secret'])
  })

  test('fails a run that has not begun', async () => {
    const live = await boot({
      turns: [{ content: 'first', delay_ms: 300 }, { content: 'second' }],
      settings: { max_concurrent_runs: 1 },
    })
    const project = join(live.workspace, 'project')
    await mkdir(project)
    await live.start('first')
    const id = await live.start({ prompt: 'second', workspace_path: project })
    await rename(project, `${project}-moved`)
    await symlink(dir, project)
    const end = (await live.events(id)).at(-1)
    await live.stop()
    expect(end).toMatchObject({ type: 'run.failed', payload: { error: expect.stringContaining('replaced by a link') } })
  })
})
