import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Sandbox, SandboxCommand, SandboxExit, SandboxPolicy, SandboxRefusal } from '#contracts/sandbox'
import type { SeatbeltConfig } from './config.js'
import { Profiles, parseListener } from './profile.js'
import { isBelow, type Place, real, rootsOf } from './reach.js'
import { runSupervised } from './supervised.js'

const USUAL_PATH = '/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin'
const CHECK_TIMEOUT_MS = 10_000

/** A `Sandbox` of macOS's seatbelt. `close` ends every command and removes their temporary files. */
export class SeatbeltSandbox implements Sandbox {
  readonly name = 'seatbelt'
  readonly #config: SeatbeltConfig
  readonly #path: readonly string[]
  readonly #home: string | undefined
  readonly #profiles: Profiles
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()
  readonly #proven = new Set<string>()
  #temp: string | undefined

  constructor(config: SeatbeltConfig) {
    this.#config = config
    this.#path = (config.search_path || USUAL_PATH).split(':').filter(entry => entry.startsWith('/'))
    this.#home = real(config.home || homedir())
    this.#profiles = new Profiles(parseListener(config.listen))
  }

  async check(policy: SandboxPolicy): Promise<SandboxRefusal | undefined> {
    const kind = `${policy.scope} ${policy.network}`
    if (this.#proven.has(kind)) return undefined
    const probe: SandboxCommand = { argv: ['true'], cwd: policy.root, onOutput: () => {}, timeoutMs: CHECK_TIMEOUT_MS }
    const exit = await this.run(probe, policy, this.#closing.signal)
    if (exit.kind === 'refused') return exit
    if (exit.kind !== 'exited' || exit.code !== 0)
      return refuse(`Sandbox \`${policy.scope}\` was tried with the program \`true\` and that did not end well.`)
    this.#proven.add(kind)
    return undefined
  }

  async run(
    command: SandboxCommand,
    policy: SandboxPolicy,
    signal: AbortSignal,
  ): Promise<SandboxExit | SandboxRefusal> {
    if (this.#closing.signal.aborted) return refuse('The daemon is stopping; no further command is started.')
    if (signal.aborted) return { kind: 'aborted' }
    const running = this.#run(command, policy, AbortSignal.any([signal, this.#closing.signal]))
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  async endSession(session: string): Promise<void> {
    if (this.#temp !== undefined) await remove(join(this.#temp, shortHash(session)))
  }

  /** Kills what runs and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
    if (this.#temp !== undefined) await remove(this.#temp)
  }

  async #run(
    command: SandboxCommand,
    policy: SandboxPolicy,
    signal: AbortSignal,
  ): Promise<SandboxExit | SandboxRefusal> {
    // The system's own shell: the loader takes no libraries for it from an environment.
    const bash = isExecutable('/bin/bash') ? '/bin/bash' : this.#find('bash')
    const launcher = this.#find('sandbox-exec')
    if (!launcher)
      return refuse(
        'Commands cannot be confined here: the program `sandbox-exec`, a part of macOS, was not found on the PATH. Nothing was run.',
      )
    if (!bash) return refuse('The program `bash` was not found on the PATH. Nothing was run.')
    const problem = problemOf(command, policy)
    if (problem) return refuse(`${problem} Nothing was run.`)
    const { temp, forget } = this.#tempOf(command.session)
    try {
      const isConfined = policy.scope !== 'unrestricted'
      const place = this.#place(policy, temp)
      const profile = isConfined ? await this.#profiles.of(policy, place) : undefined
      if (profile?.kind === 'impossible') return refused(policy, profile.reason)
      const ended = await runSupervised(
        {
          bash,
          launcher: profile ? [launcher, '-p', profile.text] : [],
          cwd: real(command.cwd) ?? command.cwd,
          env: {
            ...environmentOf(this.#path, policy.scope === 'workspace' ? place.privateHome : this.#home, temp),
            ...command.env,
          },
        },
        command,
        signal,
      )
      return ended.kind === 'failed' ? refused(policy, ended.text || 'the launcher ended without a word') : ended
    } finally {
      await forget()
    }
  }

  #place(policy: SandboxPolicy, temp: string): Place {
    const { cache_dir, hidden_paths } = this.#config
    return {
      home: this.#home,
      path: this.#path.map(dir => real(dir) ?? dir),
      privateHome: this.#privateHome(policy, cache_dir, temp),
      temp,
      hostTemp: ['/tmp', '/var/tmp', tmpdir()].flatMap(dir => real(dir) ?? []),
      hiddenPaths: hidden_paths,
    }
  }

  /**
   * One for each workspace: what one tenant's builds left in a cache is not what another's trust. Forgotten where nothing
   * may change; not used outside of the scope `workspace`.
   */
  #privateHome({ root, scope, isReadOnly }: SandboxPolicy, cacheDir: string, temp: string): string {
    if (scope !== 'workspace') return temp
    if (isReadOnly) return made(join(temp, 'home'))
    const base = cacheDir || join(this.#home ?? tmpdir(), '.cache', 'runwright')
    return made(join(base, 'homes', shortHash(real(root) ?? root)))
  }

  /** The session's, or one that is forgotten with the command. */
  #tempOf(session: string | undefined): { readonly temp: string; forget(): Promise<void> } {
    this.#temp ??= mkdtempSync(join(real(tmpdir()) ?? tmpdir(), 'runwright-tmp-'))
    if (session !== undefined)
      return { temp: made(join(this.#temp, shortHash(session))), forget: async () => undefined }
    const temp = mkdtempSync(join(this.#temp, 'command-'))
    return { temp, forget: () => remove(temp) }
  }

  #find(program: string): string | undefined {
    return this.#path.map(dir => join(dir, program)).find(isExecutable)
  }
}

function problemOf({ argv, cwd }: SandboxCommand, policy: SandboxPolicy): string | undefined {
  const at = real(cwd)
  if (!real(policy.root)) return `The workspace ${policy.root} does not exist.`
  if (!at) return `The working directory ${cwd} does not exist.`
  if (!rootsOf(policy).some(dir => isBelow(at, dir))) return `The working directory ${cwd} is outside of the workspace.`
  if (argv.some(word => word.includes('\0'))) return 'An argument holds a NUL character.'
  return undefined
}

const refuse = (reason: string): SandboxRefusal => ({ kind: 'refused', reason })

const refused = ({ scope, network }: SandboxPolicy, why: string): SandboxRefusal =>
  refuse(`Sandbox \`${scope}\` with network \`${network}\` cannot be had here: ${why}. Nothing was run.`)

/** What every command is given; nothing of it comes from the daemon's environment but the PATH. */
const environmentOf = (path: readonly string[], home: string | undefined, temp: string) => ({
  PATH: path.join(':'),
  HOME: home ?? temp,
  USER: userInfo().username,
  TMPDIR: temp,
  LANG: 'en_US.UTF-8',
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
})

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

function made(dir: string): string {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return real(dir) ?? dir
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24)

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
