import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'

/**
 * A repository that names programs everywhere git looks for some. Each leaves its name in the workspace, which shows that
 * it ran, and outside of it, which it must never manage.
 */
const PAYLOADS: readonly (readonly [name: string, key: string])[] = [
  ['fsmonitor', 'core.fsmonitor'],
  ['external-diff', 'diff.external'],
  ['textconv', 'diff.hostile.textconv'],
  ['clean', 'filter.hostile.clean'],
  ['smudge', 'filter.hostile.smudge'],
  ['pager', 'core.pager'],
  ['editor', 'core.editor'],
  ['gpg', 'gpg.program'],
  ['credential', 'credential.helper'],
  ['ssh', 'core.sshCommand'],
  ['askpass', 'core.askPass'],
  ['merge-driver', 'merge.hostile.driver'],
  ['alias', 'alias.st'],
  ['upload-pack', 'remote.origin.uploadpack'],
]
const HOOKS = ['post-checkout', 'pre-commit', 'post-index-change', 'reference-transaction', 'post-commit', 'pre-push']

/** What an agent does in a repository; `-p` and `st` ask for pager and alias. */
const COMMANDS = [
  'GIT_ALLOW_PROTOCOL=file git submodule update --init --recursive',
  'git status',
  'git diff',
  'git diff --no-ext-diff --textconv',
  'git log -p -1 --show-signature',
  `env -u GIT_PAGER -u PAGER script -qec 'git -p log -1' /dev/null`,
  'git st',
  'rm -f a.txt; git checkout -- a.txt',
  'git add -A',
  'git -c commit.gpgsign=false commit -m x',
  'git commit --amend',
  'git checkout -b other',
  'git checkout -q -f main; git merge side -m x',
  'git fetch',
  'git push origin HEAD:refs/heads/pushed',
  'git credential fill <<<"url=https://example.invalid"',
  'git ls-remote git://example.invalid/x',
  'git ls-remote ssh://example.invalid/x',
  'git blame a.txt',
  'git stash',
  'git grep one',
]

let live: Booted
let model: ChatServer
let calls: readonly (readonly [string, object])[] = []
let outside = ''

const ran = (dir: string): readonly string[] =>
  existsSync(dir)
    ? readdirSync(dir)
        .filter(name => name.startsWith('ran-'))
        .map(name => name.slice(4))
        .sort()
    : []

/** Outside of the workspace and of every place a command may write: beside this file, not in a temporary directory. */
beforeEach(async () => {
  outside = mkdtempSync(join(import.meta.dirname, 'hostile-'))
  model = await startChatServer({
    respond: ({ body }) => {
      const done = ((body?.messages ?? []) as { role: string }[]).filter(({ role }) => role === 'tool').length
      const next = calls[done]
      return next ? { toolCalls: [{ id: `c${done}`, name: next[0], arguments: next[1] }] } : { text: 'done' }
    },
  })
  live = await boot({ modelUrl: model.baseUrl })
  plant(live.workspace)
})
afterEach(async () => {
  await live.stop()
  await model.close()
  rmSync(outside, { recursive: true, force: true })
})

function plant(root: string): void {
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { stdio: 'pipe' })
  const put = (path: string, text: string, isProgram = false) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
    if (isProgram) chmodSync(join(root, path), 0o755)
  }
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'x')
  git('config', 'user.email', 'x@x')
  put('a.txt', 'one\n')
  put('.gitattributes', '*.txt filter=hostile diff=hostile merge=hostile\n')
  git('add', '.')
  git('commit', '-qm', 'first')
  git('update-index', '--add', '--cacheinfo', `160000,${git('rev-parse', 'HEAD').toString().trim()},sub`)
  git('commit', '-qm', 'with a submodule')
  git('checkout', '-qb', 'side')
  put('a.txt', 'side\n')
  git('commit', '-qam', 'side')
  git('checkout', '-q', 'main')
  put('a.txt', 'main\n')
  git('commit', '-qam', 'main')
  put('a.txt', 'changed\n')
  const evil = join(root, '.git/evil.sh')
  put('.git/evil.sh', `#!/bin/sh\ntouch "${root}/ran-$1" "${outside}/ran-$1"\nexec timeout 1 cat\n`, true)
  for (const name of HOOKS) put(`.git/hooks/${name}`, `#!/bin/sh\n"${evil}" ${name} </dev/null\n`, true)
  put('.git/evil.inc', `[alias]\n\tincluded = "!${evil} include </dev/null"\n`)
  put('.gitmodules', '[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c %S\n')
  const config = PAYLOADS.map(([name, key]) => [
    key,
    name === 'alias' ? `!${evil} alias </dev/null` : `${evil} ${name}`,
  ])
  for (const [key = '', value = ''] of config) git('config', key, value)
  git('config', 'remote.origin.url', root)
  git('config', 'submodule.sub.url', root)
  git('config', 'submodule.sub.update', `!${evil} submodule`)
  git('config', 'includeIf.gitdir:**.path', join(root, '.git/evil.inc'))
  for (const way of ['ext', 'file']) git('config', `protocol.${way}.allow`, 'always')
  // Called with the host's name and no words of its own.
  git('config', 'core.gitProxy', evil)
  // Planting it may have set it off.
  for (const dir of [outside, root]) for (const name of ran(dir)) rmSync(join(dir, `ran-${name}`))
}

const bash = (command: string) => ['bash', { command, timeout_seconds: 10 }] as const

describe('a hostile repository', () => {
  test('sets nothing off by being the workspace: the daemon runs no git of its own', async () => {
    calls = [
      ['read', { path: 'a.txt' }],
      ['ls', { path: '.' }],
      ['glob', { pattern: '**/*.txt' }],
      ['grep', { pattern: 'one' }],
      ['edit', { path: 'a.txt', old_text: 'changed', new_text: 'edited' }],
      ['write', { path: 'b.txt', content: 'b\n' }],
      ['apply_patch', { path: 'b.txt', find: 'b', replace: 'c' }],
    ]
    const events = await live.run('look around')
    expect(events.at(-1)?.type).toBe('run.completed')
    expect(events.filter(({ type }) => type === 'tool.call.completed')).toHaveLength(calls.length)
    expect([ran(live.workspace), ran(outside)]).toEqual([[], []])
  })

  test.each(['deny', 'allow'])('its programs stay inside when an agent uses git, network %s', async network => {
    calls = [...COMMANDS, 'git included'].map(bash)
    const events = await live.run({ prompt: 'use git', permissions: { network } })
    expect(events.filter(({ type }) => type === 'tool.call.completed')).toHaveLength(calls.length)
    expect(ran(outside)).toEqual([])
    // They did run, or nothing was tried.
    expect(ran(live.workspace)).toEqual(
      expect.arrayContaining(['clean', 'external-diff', 'fsmonitor', 'include', 'pre-commit', 'smudge', 'textconv']),
    )
  })

  test('nor do they while the run plans', async () => {
    calls = COMMANDS.map(bash)
    const before = readFileSync(join(live.workspace, '.git/config'), 'utf8')
    const id = await live.start({ prompt: 'use git', plan_mode: true, permissions: { unattended: 'deny' } })
    await live.events(id)
    expect([ran(outside), ran(live.workspace)]).toEqual([[], []])
    expect(readFileSync(join(live.workspace, '.git/config'), 'utf8')).toBe(before)
  })

  test('the same commands do get outside where nothing holds them', async () => {
    calls = [...COMMANDS, 'git included'].map(bash)
    await live.run({ prompt: 'use git', permissions: { sandbox: 'unrestricted' } })
    const got = ran(outside)
    expect(got).toEqual(
      expect.arrayContaining([
        ...[
          'alias',
          'clean',
          'credential',
          'editor',
          'external-diff',
          'fsmonitor',
          'include',
          'merge-driver',
          'pager',
          'example.invalid',
        ],
        ...[
          'smudge',
          'ssh',
          'submodule',
          'textconv',
          'upload-pack',
          'post-checkout',
          'pre-commit',
          'post-commit',
          'pre-push',
        ],
      ]),
    )
  })

  test('and cannot arm what was harmless: hooks and config take nothing from an agent', async () => {
    const armed = [
      'echo x >.git/hooks/post-merge',
      'git config core.fsmonitor evil',
      'git config --local include.path /evil',
      'git config --worktree core.fsmonitor evil',
      'mkdir -p evil && cp .git/config evil/config && echo "[core]fsmonitor=evil" >>evil/config && echo ../evil >.git/commondir',
      'git remote add evil ext::sh',
    ]
    calls = armed.map(bash)
    const look = () => [
      readFileSync(join(live.workspace, '.git/config'), 'utf8'),
      readdirSync(join(live.workspace, '.git/hooks')).sort(),
      existsSync(join(live.workspace, '.git/commondir')),
      existsSync(join(live.workspace, '.git/config.worktree')),
    ]
    const before = look()
    await live.run('arm it')
    expect(look()).toEqual(before)
  })
})

test('no source outside of the sandbox plugins starts git', () => {
  const root = resolve(import.meta.dirname, '../..')
  const starters = ['kernel', 'plugins', 'config', 'contracts'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts') && !/\.test\.ts$|node_modules|bench|testing/.test(file))
      .filter(file => /node:child_process|execa/.test(readFileSync(join(root, folder, file), 'utf8')))
      .map(file => join(folder, file)),
  )
  // Each of these starts one program, and it is not git.
  expect(starters.sort()).toEqual([
    'plugins/bubblewrap/spawner.ts',
    'plugins/file-tools/ripgrep.ts',
    'plugins/model-settings/keychain.ts',
    'plugins/seatbelt/supervised.ts',
  ])
})
