import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { PluginManifest } from '#contracts/plugin'
import { SANDBOX } from '#contracts/ports'
import type { Sandbox, SandboxPolicy } from '#contracts/sandbox'
import { describePlugin, openPlugin } from '#test/kit/index'
import { createRepository, noSandbox } from './git-bench.js'
import { lookingOnly } from './harmless.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

const undo: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

function openRepository() {
  const repository = createRepository()
  undo.push(repository.remove)
  return repository
}

async function realSandbox(): Promise<Sandbox> {
  const path = new URL('../bubblewrap/index.js', import.meta.url).href
  const cache = mkdtempSync(join(tmpdir(), 'git-cache-'))
  const opened = await openPlugin(((await import(path)) as { plugin: PluginManifest }).plugin, {
    config: { cache_dir: cache },
  })
  undo.push(() => rmSync(cache, { recursive: true, force: true }))
  undo.push(() => opened.close())
  return opened.port(SANDBOX) as Sandbox
}

async function toolsOn(root: string, sandbox: Sandbox, access: Partial<SandboxPolicy> = {}) {
  const tools = await openPlugin(plugin, { ports: [[SANDBOX, sandbox]] })
  undo.push(() => tools.close())
  const workspace = { root, extraDirs: [] }
  const policy: SandboxPolicy = { scope: 'workspace', network: 'allow', hiddenPaths: [], ...workspace, ...access }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  return async (tool: string, args: object = {}): Promise<any> =>
    tools.call(tool, args, { workspace, sandboxPolicy: async () => policy })
}

describe('in the real sandbox', () => {
  test('status and diff tell what changed', async () => {
    const { root, git, put, commit } = openRepository()
    commit('first', { 'a.txt': 'one\n', 'ä b.txt': 'x\n' })
    const call = await toolsOn(root, await realSandbox())
    expect((await call('git_status')).output).toEqual({ clean: true, output: '', exit_code: 0, timed_out: false })
    put('a.txt', 'two\n')
    put('new.txt', 'n\n')
    git('add', 'new.txt')
    expect((await call('git_status')).output).toMatchObject({ clean: false, output: ' M a.txt\nA  new.txt\n' })
    expect((await call('git_status', { porcelain: false })).output.output).toContain('modified:   a.txt')
    expect((await call('git_diff')).output).toMatchObject({
      diff: expect.stringContaining('-one\n+two\n'),
      truncated: false,
      exit_code: 0,
      timed_out: false,
    })
    expect((await call('git_diff', { staged: true })).output.diff).toContain('+++ b/new.txt')
    expect((await call('git_diff', { target: 'HEAD', path: 'new.txt' })).output.diff).not.toContain('a.txt')
    expect((await call('git_diff', { max_bytes: 10 })).output).toMatchObject({ diff: 'diff --git', truncated: true })
  })

  test('history is searched, listed across renames, blamed, compared and counted', async () => {
    const { root, git, commit } = openRepository()
    const first = commit('Add the parser', { 'src/old.ts': 'const a = 1\nconst b = 2\n' })
    git('mv', 'src/old.ts', 'src/new.ts')
    const second = commit('Move it', {})
    const third = commit(
      'Fix [bug] in parser',
      { 'src/new.ts': 'const a = 1\nconst magic = 2\n', other: 'x\n' },
      '--author=Bob <bob@x>',
    )
    const call = await toolsOn(root, await realSandbox())
    const found = (await call('git_log_search', { query: 'PARSER' })).output
    expect(found).toMatchObject({ total_found: 2, truncated: false, query: 'PARSER', mode: 'message' })
    expect(found.commits[0]).toEqual({
      hash: third,
      author: 'Bob',
      email: 'bob@x',
      date: expect.stringMatching(/^2023-11-14T/),
      subject: 'Fix [bug] in parser',
    })
    expect((await call('git_log_search', { query: '[bug]' })).output.total_found).toBe(1)
    expect((await call('git_log_search', { query: 'magic', mode: 'pickaxe' })).output.commits).toMatchObject([
      { hash: third },
    ])
    expect((await call('git_log_search', { query: 'parser', mode: 'both', max_results: 1 })).output).toMatchObject({
      truncated: true,
    })
    expect((await call('git_log_search', { query: 'parser', since: '2040-01-01' })).output.commits).toEqual([])

    const history = (await call('git_file_history', { path: 'src/new.ts', show_diffs: true })).output
    expect(history.commits.map(({ hash }: { hash: string }) => hash)).toEqual([third, second, first])
    expect([history.total_commits, history.commits[0].diff]).toEqual([3, expect.stringContaining('+const magic = 2')])
    expect(
      (await call('git_file_history', { path: 'src/new.ts', follow: false, max_commits: 1 })).output,
    ).toMatchObject({ total_commits: 1, truncated: true })

    const blame = (await call('git_blame_context', { path: 'src/new.ts' })).output
    expect(blame).toMatchObject({
      file: 'src/new.ts',
      unique_commits: 2,
      lines: [
        { line: 1, hash: first, author: 'Ann', content: 'const a = 1' },
        { line: 2, hash: third, author: 'Bob' },
      ],
    })
    expect(
      (await call('git_blame_context', { path: 'src/new.ts', start_line: 2, end_line: 2, rev: second })).output.lines,
    ).toMatchObject([{ line: 2, hash: first }])

    const range = (await call('git_diff_range', { from: second })).output
    expect(range).toMatchObject({
      from: second,
      to: 'HEAD',
      files_changed: 2,
      insertions: 2,
      deletions: 1,
      stat: 'other | +1 -0\nsrc/new.ts | +1 -1',
      truncated: false,
    })
    expect((await call('git_diff_range', { from: second, stat_only: true })).output.diff).toBe('')
    expect((await call('git_contributor_context')).output.authors).toMatchObject([
      { name: 'Ann', commits: 2 },
      { name: 'Bob', email: 'bob@x', commits: 1 },
    ])
    expect((await call('git_contributor_context', { path: 'other' })).output).toMatchObject({
      path: 'other',
      authors: [{ name: 'Bob' }],
    })
  })

  test('a long blame is told in parts, and what is not committed is no commit', async () => {
    const { root, commit, put } = openRepository()
    const text = Array.from({ length: 490 }, (_, index) => `line ${index} ${'x'.repeat(100)}\n`).join('')
    commit('long', { a: text })
    put('a', `${text}new\n`)
    const call = await toolsOn(root, await realSandbox())
    const first = (await call('git_blame_context', { path: 'a' })).output
    expect([first.truncated, first.next_line, JSON.stringify(first).length < 70_000]).toEqual([
      true,
      first.lines.length + 1,
      true,
    ])
    const rest = (await call('git_blame_context', { path: 'a', start_line: first.next_line })).output
    expect([first.lines.length + rest.lines.length, rest.unique_commits, rest.truncated]).toEqual([491, 1, undefined])
  })

  test('no repository, no commits, no such thing: said plainly', async () => {
    const { root } = openRepository()
    const call = await toolsOn(root, await realSandbox())
    expect((await call('git_log_search', { query: 'x' })).output.commits).toEqual([])
    expect((await call('git_file_history', { path: 'x' })).output.commits).toEqual([])
    expect(await call('git_diff', { target: 'nope' })).toMatchObject({
      error: { code: 'git_failed', message: expect.stringContaining('nope') },
    })
    expect(await call('git_blame_context', { path: 'nope' })).toMatchObject({ error: { code: 'git_failed' } })
    rmSync(join(root, '.git'), { recursive: true })
    for (const [tool, args] of [
      ['git_status', {}],
      ['git_diff', {}],
      ['git_diff_range', { from: 'HEAD' }],
    ] as const)
      expect(await call(tool, args)).toMatchObject({ error: { code: 'not_a_repository' } })
  })

  test('nothing is written, not even the index', async () => {
    const { root, commit } = openRepository()
    commit('first', { a: '1\n' })
    writeFileSync(join(root, 'a'), '1\n')
    const before = JSON.stringify(readdirSync(join(root, '.git')))
    const call = await toolsOn(root, await realSandbox(), { scope: 'unrestricted' })
    expect((await call('git_status')).output.clean).toBe(true)
    expect(JSON.stringify(readdirSync(join(root, '.git')))).toBe(before)
  })
})

describe('arguments', () => {
  test.each([
    ['git_diff', { target: '--output=/tmp/x' }],
    ['git_diff', { target: '-O' }],
    ['git_diff_range', { from: '--ext-diff' }],
    ['git_diff_range', { from: 'a', to: '--output=x' }],
    ['git_blame_context', { path: 'a', rev: '--contents=/etc/passwd' }],
    ['git_diff', { target: 'a b' }],
    ['git_diff', { path: 'a\0b' }],
  ])('that look like options are refused: %s %j', async (tool, args) => {
    const sandbox = noSandbox()
    const { root } = openRepository()
    expect(await (await toolsOn(root, sandbox))(tool, args)).toHaveProperty('error')
    expect(sandbox.policies).toEqual([])
  })

  test('that are no revisions are told with what is one', async () => {
    const { root } = openRepository()
    expect(await (await toolsOn(root, noSandbox()))('git_diff', { target: '--output=x' })).toEqual({
      error: { code: 'invalid_revision', message: expect.stringMatching(/^"--output=x" is no revision.*HEAD~2/) },
    })
  })

  test('that do not go together are told so', async () => {
    const { root, commit } = openRepository()
    commit('first', { 'a.txt': 'one\n' })
    commit('second', { 'a.txt': 'two\n' })
    const call = await toolsOn(root, noSandbox())
    for (const [tool, args] of [
      ['git_diff', { staged: true, target: 'HEAD~1..HEAD' }],
      ['git_diff_range', { from: 'HEAD~1..HEAD' }],
    ] as const)
      expect((await call(tool, args)).error).toMatchObject({
        code: 'git_failed',
        message: expect.stringMatching(/^git does not take these arguments together.*a\.\.b/),
      })
  })

  test('are never taken as options or magic', async () => {
    const { root, commit } = openRepository()
    commit('--all is a message', { '--output=x': '1\n', ':(top)a': '2\n', a: '3\n' })
    writeFileSync(join(root, '--output=x'), 'changed\n')
    writeFileSync(join(root, 'a'), 'changed\n')
    const call = await toolsOn(root, noSandbox())
    expect((await call('git_diff', { path: '--output=x' })).output.diff).toContain('changed')
    expect((await call('git_diff', { path: ':(top)a' })).output.diff).toBe('')
    expect((await call('git_log_search', { query: '--all' })).output.total_found).toBe(1)
    expect((await call('git_log_search', { query: '--output=y', mode: 'pickaxe' })).output.total_found).toBe(0)
    expect(existsSync(join(root, 'x')) || existsSync(join(root, 'y'))).toBe(false)
  })
})

test('git is confined, without network and read-only, whatever the run may do', () => {
  const policy = {
    scope: 'unrestricted',
    network: 'allow',
    root: '/w',
    extraDirs: [],
    hiddenPaths: ['/s'],
    writablePaths: ['/w/plan'],
  } as const
  expect(lookingOnly(policy)).toEqual({
    scope: 'workspace',
    network: 'deny',
    isReadOnly: true,
    root: '/w',
    extraDirs: [],
    hiddenPaths: ['/s'],
  })
})

test('without a sandbox there are no git tools', async () => {
  const opened = await openPlugin(plugin)
  expect([...opened.tools.keys()]).toEqual([])
  await opened.close()
})
