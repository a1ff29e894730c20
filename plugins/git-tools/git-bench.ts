import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Sandbox, SandboxPolicy } from '#contracts/sandbox'

const PATH = '/usr/local/bin:/usr/bin:/bin'
/** No configuration but the repository's own. */
export const IDENTITY = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  PATH,
  HOME: '/nonexistent',
}

/** A repository in a temporary directory. Remove it after use. */
export function createRepository() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'git-tools-')))
  let seconds = 1_700_000_000
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-C', root, '-c', 'user.name=Ann', '-c', 'user.email=ann@x', '-c', 'commit.gpgsign=false', ...args],
      {
        env: { ...IDENTITY, GIT_AUTHOR_DATE: `${seconds} +0000`, GIT_COMMITTER_DATE: `${seconds} +0000` },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    ).toString()
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const commit = (message: string, files: Readonly<Record<string, string>>, ...options: string[]) => {
    seconds += 60
    for (const [path, text] of Object.entries(files)) put(path, text)
    git('add', '-A')
    git('commit', '-q', '-m', message, ...options)
    return git('rev-parse', 'HEAD').trim()
  }
  git('init', '-q', '-b', 'main')
  return { root, git, put, commit, remove: () => rmSync(root, { recursive: true, force: true }) }
}

/** Runs commands as they are: what happens here happened although nothing confined it. */
export function noSandbox(): Sandbox & { readonly policies: SandboxPolicy[] } {
  const policies: SandboxPolicy[] = []
  return {
    name: 'none',
    policies,
    check: async () => undefined,
    run: (command, policy, signal) =>
      new Promise(resolve => {
        policies.push(policy)
        const [program, ...args] = command.argv
        const child = spawn(program, args, {
          cwd: command.cwd,
          env: { PATH, ...command.env },
          signal,
        })
        child.stdout.on('data', chunk => void command.onOutput(chunk, 'stdout'))
        child.stderr.on('data', chunk => void command.onOutput(chunk, 'stderr'))
        child.on('error', () => resolve({ kind: 'aborted' }))
        child.on('close', code => resolve({ kind: 'exited', code: code ?? -1 }))
      }),
  }
}
