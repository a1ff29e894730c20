import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { SandboxCommand, SandboxExit, SandboxPolicy, SandboxRefusal } from '#contracts/sandbox'
import { SeatbeltSandbox } from './seatbelt-sandbox.js'

/** Where the suites of this folder try the sandbox on any system: the program `sandbox-exec` keeps the profile and becomes the command. */
export interface StandIn {
  readonly base: string
  readonly root: string
  readonly home: string
  /** Where the stand-in leaves the profile it was given. */
  readonly profile: string
  readonly policy: SandboxPolicy
  readonly sandbox: SeatbeltSandbox
  /** Puts another program in the place of `sandbox-exec`. */
  install(script: string): void
  run(script: string, policy?: Partial<SandboxPolicy>, more?: Partial<SandboxCommand> & Signalled): Promise<StandInExit>
  close(): Promise<void>
}

interface Signalled {
  readonly signal?: AbortSignal
}

export type StandInExit = (SandboxExit | SandboxRefusal) & { readonly output: string }

/** Not a temporary directory, which every policy may write, nor a plugin's folder, which daemons load. */
const SCRATCH = resolve(import.meta.dirname, '../../scratch')

export function openStandIn(listen = '127.0.0.1:8080'): StandIn {
  mkdirSync(SCRATCH, { recursive: true })
  const base = realpathSync(mkdtempSync(join(SCRATCH, 'stand-in-')))
  const [root, home, bin] = ['workspace', 'home', 'bin'].map(name => join(base, name)) as [string, string, string]
  for (const dir of [root, home, bin]) mkdirSync(dir)
  const profile = join(base, 'profile')
  const install = (script: string) =>
    writeFileSync(join(bin, 'sandbox-exec'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  install(`[ "$1" = -p ] || exit 64\nprintf %s "$2" >'${profile}'\nshift 2\nexec "$@"`)
  const sandbox = new SeatbeltSandbox({
    search_path: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`,
    listen,
    home,
    cache_dir: join(home, '.cache/runwright'),
    hidden_paths: [],
  })
  const policy: SandboxPolicy = { scope: 'workspace', network: 'deny', root, extraDirs: [], hiddenPaths: [] }
  return {
    base,
    root,
    home,
    profile,
    policy,
    sandbox,
    install,
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
      rmSync(base, { recursive: true, force: true })
    },
  }
}
