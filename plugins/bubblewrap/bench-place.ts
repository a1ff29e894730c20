import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { SandboxCommand, SandboxExit, SandboxPolicy, SandboxRefusal } from '#contracts/sandbox'
import { BubblewrapSandbox } from './bubblewrap-sandbox.js'

/** Where the suites of this folder try the real sandbox: a workspace, a home full of canaries, and a world outside. */
export interface BenchPlace {
  /** Stands in everything that must not be read. */
  readonly canary: string
  readonly root: string
  readonly home: string
  /** Beside the workspace, not in a temporary directory. */
  readonly outside: string
  /** Daemon state inside the workspace. */
  readonly state: string
  readonly policy: SandboxPolicy
  readonly sandbox: BubblewrapSandbox
  run(script: string, policy?: Partial<SandboxPolicy>, more?: Partial<SandboxCommand> & Signalled): Promise<BenchExit>
  close(): Promise<void>
}

interface Signalled {
  readonly signal?: AbortSignal
}

export type BenchExit = (SandboxExit | SandboxRefusal) & { readonly output: string }

/** The usual PATH and the Node that runs this. */
export const BENCH_PATH = `${dirname(process.execPath)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`

export const BENCH_CONFIG = {
  search_path: BENCH_PATH,
  bwrap_path: '',
  home: '',
  cache_dir: '',
  hidden_paths: [],
  allowed_network: 'private' as 'private' | 'host',
  host_services: [] as string[],
  network_idle_seconds: 30,
  max_processes: 0,
  max_memory_mb: 0,
}

/** Not a temporary directory, which is something else in a sandbox, nor a plugin's folder, which daemons load. */
const SCRATCH = resolve(import.meta.dirname, '../../scratch')

export function openBenchPlace(config: Partial<typeof BENCH_CONFIG> = {}): BenchPlace {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'sandbox-bench-')))
  mkdirSync(SCRATCH, { recursive: true })
  const outside = mkdtempSync(join(SCRATCH, 'outside-'))
  const canary = `CANARY${randomBytes(8).toString('hex')}`
  const [root, home] = [join(base, 'workspace'), join(base, 'home')]
  const state = join(root, '.runwright')
  const plant = (path: string, text = canary) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  for (const name of SECRETS) plant(join(home, name))
  for (const name of ['state.db', 'state.db-wal', 'keys/one']) plant(join(state, name))
  plant(join(outside, 'victim'), 'untouched')
  plant(join(root, '.git/config'), '[core]\n')
  plant(join(root, '.git/HEAD'), 'ref: refs/heads/main\n')
  plant(join(root, '.git/hooks/pre-commit'), '#!/bin/sh\n')
  for (const dir of ['objects', 'refs']) mkdirSync(join(root, '.git', dir))
  const sandbox = new BubblewrapSandbox({ ...BENCH_CONFIG, home, cache_dir: join(base, 'cache'), ...config })
  const policy: SandboxPolicy = { scope: 'workspace', network: 'deny', root, extraDirs: [], hiddenPaths: [state] }
  return {
    canary,
    root,
    home,
    outside,
    state,
    policy,
    sandbox,
    async run(script, changes = {}, { signal = new AbortController().signal, ...more } = {}) {
      const chunks: Uint8Array[] = []
      const command: SandboxCommand = {
        argv: ['bash', '-c', script],
        cwd: root,
        mergesOutput: true,
        timeoutMs: 15_000,
        onOutput: chunk => void chunks.push(chunk),
        ...more,
      }
      const exit = await sandbox.run(command, { ...policy, ...changes }, signal)
      return { ...exit, output: Buffer.concat(chunks).toString() }
    },
    async close() {
      await sandbox.close()
      for (const path of [base, outside]) rmSync(path, { recursive: true, force: true })
    },
  }
}

const SECRETS = [
  ...['.ssh/id_ed25519', '.aws/credentials', '.config/gh/hosts.yml', '.netrc', '.npmrc', '.gnupg/secring.gpg'],
  ...['.docker/config.json', '.kube/config', '.git-credentials', '.cargo/credentials.toml', 'notes.txt'],
]

/** Pids of the programs that carry connections of private networks: children of a child of the daemon. */
export function carriersOf(daemon: number | undefined): readonly string[] {
  return readdirSync('/proc').filter(pid => {
    const self = /^\d+$/.test(pid) ? statOf(pid) : undefined
    return self?.name === 'slirp4netns' && self.state !== 'Z' && statOf(self.parent)?.parent === String(daemon)
  })
}

/** Name, state, parent and process group of a process; undefined when it is gone. */
export function statOf(pid: string) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const end = text.lastIndexOf(')')
    const [state = '', parent = '', group = ''] = text.slice(end + 2).split(' ')
    return { name: text.slice(text.indexOf('(') + 1, end), state, parent, group }
  } catch {
    return undefined
  }
}
