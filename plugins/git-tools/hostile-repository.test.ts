import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { SANDBOX } from '#contracts/ports'
import type { Sandbox, SandboxPolicy } from '#contracts/sandbox'
import { openPlugin } from '#test/kit/index'
import { createRepository, IDENTITY, noSandbox } from './git-bench.js'
import { plugin } from './index.js'

const undo: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

async function toolsOn(root: string, sandbox: Sandbox, access: Partial<SandboxPolicy> = {}) {
  const tools = await openPlugin(plugin, { ports: [[SANDBOX, sandbox]] })
  undo.push(() => tools.close())
  const workspace = { root, extraDirs: [] }
  const policy: SandboxPolicy = { scope: 'workspace', network: 'allow', hiddenPaths: [], ...workspace, ...access }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  return async (tool: string, args: object = {}): Promise<any> =>
    tools.call(tool, args, { workspace, sandboxPolicy: async () => policy })
}

describe('a hostile repository', () => {
  /** Names a canary program wherever git takes one. */
  function createTrap() {
    const repository = createRepository()
    undo.push(repository.remove)
    const { root, git, put, commit } = repository
    const sprung = mkdtempSync(join(tmpdir(), 'sprung-'))
    undo.push(() => rmSync(sprung, { recursive: true, force: true }))
    const canary = (name: string) => {
      const path = join(sprung, `${name}.sh`)
      writeFileSync(path, `#!/bin/sh\ntouch ${join(sprung, `ran-${name}`)}\ncat\n`)
      chmodSync(path, 0o755)
      return path
    }
    const base = commit('base', { 'a.txt': 'one\n', 'b.bin': 'bin\n', 'c.txt': 'c\n' })
    const config: Readonly<Record<string, string>> = {
      'core.fsmonitor': canary('fsmonitor'),
      'core.pager': canary('pager'),
      'core.editor': canary('editor'),
      'core.sshCommand': canary('ssh'),
      'core.askPass': canary('askpass'),
      'core.alternateRefsCommand': canary('refs'),
      'core.hooksPath': join(root, 'hooks'),
      'diff.external': canary('external'),
      'diff.evil.command': canary('command'),
      'diff.evil.textconv': canary('textconv'),
      'filter.evil.clean': canary('clean'),
      'filter.evil.smudge': canary('smudge'),
      'filter.ev.il.process': canary('process'),
      'filter.ev.il.required': 'true',
      'gpg.program': canary('gpg'),
      'log.showSignature': 'true',
      'credential.helper': canary('credential'),
      'pager.diff': canary('pagerdiff'),
      'pager.status': canary('pagerstatus'),
      'pager.log': canary('pagerlog'),
      'pager.blame': canary('pagerblame'),
      'merge.evil.driver': canary('merge'),
      'alias.status': `!${canary('alias')}`,
      'remote.origin.url': `ext::${canary('ext')}`,
      'remote.origin.promisor': 'true',
      'extensions.partialClone': 'origin',
      'status.submoduleSummary': 'true',
      'diff.submodule': 'log',
      'uploadpack.packObjectsHook': canary('pack'),
    }
    mkdirSync(join(root, 'hooks'))
    for (const hook of [
      'post-index-change',
      'fsmonitor-watchman',
      'pre-commit',
      'reference-transaction',
      'post-checkout',
    ]) {
      const path = canary(`hook-${hook}`)
      execFileSync('cp', [path, join(root, 'hooks', hook)])
      execFileSync('cp', [path, join(root, '.git/hooks', hook)])
    }
    git('init', '-q', 'sub')
    execFileSync(
      'git',
      [
        '-C',
        join(root, 'sub'),
        '-c',
        'user.name=A',
        '-c',
        'user.email=a@x',
        'commit',
        '-q',
        '--allow-empty',
        '-m',
        's',
      ],
      { env: IDENTITY },
    )
    const head = commit('second', {
      'a.txt': 'two\n',
      '.gitattributes': '* diff=evil merge=evil\n*.txt filter=evil\n*.bin filter=ev.il\n',
    })
    git('config', '-f', join(root, 'sub/.git/config'), 'core.fsmonitor', canary('subfsmonitor'))
    git('config', 'core.repositoryformatversion', '1')
    for (const [key, value] of Object.entries(config)) git('config', key, value)
    put('a.txt', 'three\n')
    put('b.bin', 'changed\n')
    put('sub/x', 'dirty\n')
    execFileSync('touch', ['-d', '2001-01-01', join(root, 'c.txt')])
    const ran = () => readdirSync(sprung).filter(name => name.startsWith('ran-'))
    // Setting the trap has sprung it here and there.
    for (const name of ran()) rmSync(join(sprung, name))
    return { ...repository, base, head, ran }
  }

  test('runs nothing of its own although nothing confines it', async () => {
    const { root, base, ran } = createTrap()
    const call = await toolsOn(root, noSandbox())
    const calls = [
      ...[
        ['git_status', {}],
        ['git_status', { porcelain: false }],
        ['git_diff', {}],
        ['git_diff', { staged: true }],
        ['git_diff', { target: base }],
      ],
      ...[
        ['git_log_search', { query: 'one', mode: 'both' }],
        ['git_file_history', { path: 'a.txt', show_diffs: true }],
      ],
      ...[
        ['git_blame_context', { path: 'a.txt' }],
        ['git_blame_context', { path: 'a.txt', rev: base }],
        ['git_diff_range', { from: base }],
      ],
      ['git_contributor_context', {}],
    ] as const
    for (const [tool, args] of calls)
      expect([tool, await call(tool as string, args as object)]).toEqual([tool, { output: expect.anything() }])
    expect(ran()).toEqual([])
  })

  test('is a live trap: plain git in it runs what it names', async () => {
    const { root, ran } = createTrap()
    const plain = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { env: IDENTITY, stdio: 'ignore' })
    for (const args of [['status'], ['diff'], ['log', '-p', '-1']])
      try {
        plain(...args)
      } catch {
        // A canary that does not speak the protocol it is asked in ends the command.
      }
    expect(ran()).toEqual(
      expect.arrayContaining(['ran-fsmonitor', 'ran-subfsmonitor', 'ran-clean', 'ran-process', 'ran-textconv']),
    )
  })
})
