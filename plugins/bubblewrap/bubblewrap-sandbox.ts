import { createHash } from 'node:crypto'
import { accessSync, chmodSync, constants, mkdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { isFailure } from '#contracts/errors'
import type { Sandbox, SandboxCommand, SandboxExit, SandboxPolicy, SandboxRefusal } from '#contracts/sandbox'
import { bwrapArguments } from './arguments.js'
import { settle } from './command.js'
import type { BubblewrapConfig } from './config.js'
import { guardRedirects } from './git-redirect.js'
import { real } from './real-path.js'
import { BWRAP_MISSING, explainFailure, refuse } from './refusal.js'
import { compileSocketFilter } from './seccomp.js'
import { openSpawner, type Spawner } from './spawner.js'
import { fileSystemView, isBelow, type Place, readableSecrets } from './view.js'

const USUAL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const MAX_ARGUMENT_BYTES = 120_000
const CHECK_TIMEOUT_MS = 10_000

/** A `Sandbox` of Linux namespaces. `close` ends every command and removes what they shared. */
export class BubblewrapSandbox implements Sandbox {
  readonly name = 'bubblewrap'
  readonly #config: BubblewrapConfig
  readonly #path: readonly string[]
  readonly #home: string | undefined
  readonly #programDirs: readonly string[]
  readonly #systemSecrets = readableSecrets()
  readonly #environment: Readonly<Record<string, string>>
  readonly #knowsProcessor = compileSocketFilter('deny', process.arch) !== undefined
  readonly #closing = new AbortController()
  readonly #proven = new Set<string>()
  readonly #running = new Set<Promise<unknown>>()
  #spawner: Spawner | undefined

  constructor(config: BubblewrapConfig) {
    this.#config = config
    this.#path = (config.search_path || USUAL_PATH).split(':').filter(entry => entry.startsWith('/'))
    this.#programDirs = this.#path.map(dir => real(dir) ?? dir)
    const home = real(config.home || homedir())
    this.#home = home === '/' ? undefined : home
    this.#environment = environmentOf(this.#path, this.#home)
  }

  async check(policy: SandboxPolicy): Promise<SandboxRefusal | undefined> {
    const kind = `${policy.scope} ${policy.network}`
    if (this.#proven.has(kind)) return undefined
    const probe: SandboxCommand = {
      argv: ['true'],
      cwd: policy.root,
      onOutput: () => {},
      timeoutMs: CHECK_TIMEOUT_MS,
    }
    const exit = await this.run(probe, policy, this.#closing.signal)
    if (exit.kind === 'refused') return exit
    if (exit.kind === 'exited' && exit.code === 0) return undefined
    return refuse(`Sandbox \`${policy.scope}\` was tried with the program \`true\` and that did not end well.`)
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
    const dir = this.#spawner && join(this.#spawner.tempDir, shortHash(session))
    if (dir) await rm(dir, { recursive: true, force: true })
  }

  /** Kills what runs and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
    await this.#spawner?.close()
  }

  async #run(
    command: SandboxCommand,
    policy: SandboxPolicy,
    signal: AbortSignal,
  ): Promise<SandboxExit | SandboxRefusal> {
    const bwrap = this.#config.bwrap_path || this.#find('bwrap')
    if (!bwrap || !isExecutable(bwrap)) return refuse(BWRAP_MISSING)
    const problem = this.#problemOf(command, policy)
    if (problem) return refuse(problem)
    try {
      const spawner = this.#ensureSpawner()
      if (!spawner) return refuse('The program `bash` was not found on the PATH; install it. Nothing was run.')
      const sweep = guardRedirects(policy)
      const launched = await spawner.launch({
        ...this.#arguments(bwrap, command, policy, spawner),
        stdin: command.stdin,
        mergesOutput: command.mergesOutput ?? false,
        filter: policy.scope === 'unrestricted' ? 'none' : policy.network,
      })
      const settled = await settle(launched, command, signal).finally(sweep)
      if (settled.kind === 'failed') {
        this.#proven.delete(`${policy.scope} ${policy.network}`)
        return explainFailure(settled.text, policy)
      }
      if (settled.kind === 'exited') this.#proven.add(`${policy.scope} ${policy.network}`)
      return settled
    } catch (error) {
      if (isFailure(error, 'unavailable')) return refuse(error.message)
      throw error
    }
  }

  #problemOf({ argv, cwd }: SandboxCommand, policy: SandboxPolicy): string | undefined {
    const [root, at] = [real(policy.root), real(cwd)]
    if (!root) return `The workspace ${policy.root} does not exist.`
    if (!at) return `The working directory ${cwd} does not exist.`
    const isInside = [root, ...policy.extraDirs.map(real)].some(dir => dir !== undefined && isBelow(at, dir))
    if (!isInside) return `The working directory ${cwd} is outside of the workspace.`
    if (argv.some(word => word.includes('\0'))) return 'An argument holds a NUL character.'
    if (argv.some(word => Buffer.byteLength(word) > MAX_ARGUMENT_BYTES))
      return `An argument is longer than ${MAX_ARGUMENT_BYTES} bytes; write it to a file first.`
    if (!this.#knowsProcessor && policy.scope !== 'unrestricted')
      return `Commands cannot be confined on a ${process.arch} processor: its system call numbers are not known here.`
    return undefined
  }

  #arguments(bwrap: string, command: SandboxCommand, policy: SandboxPolicy, spawner: Spawner) {
    const root = real(policy.root) ?? policy.root
    const privateTemp = command.session === undefined ? undefined : this.#sessionDir(spawner, command.session)
    const place: Place = {
      home: this.#home,
      path: this.#programDirs,
      privateHome: policy.scope === 'workspace' ? this.#privateHome(root, spawner) : '',
      privateTemp,
      blank: join(spawner.dir, 'blank'),
      void: join(spawner.dir, 'void'),
      hiddenPaths: [...this.#config.hidden_paths, spawner.dir, spawner.tempDir],
      systemSecrets: this.#systemSecrets,
    }
    return bwrapArguments({
      bwrap,
      policy,
      mounts: policy.scope === 'unrestricted' ? [] : fileSystemView(policy, place),
      cwd: real(command.cwd) ?? command.cwd,
      env: { ...this.#environment, ...command.env },
      argv: command.argv,
      isRoot: process.getuid?.() === 0,
    })
  }

  #ensureSpawner(): Spawner | undefined {
    if (this.#spawner?.isAlive) return this.#spawner
    const bash = this.#find('bash')
    if (!bash) return undefined
    // Its successor does not wait for the rest of a dead one to be swept up.
    this.#spawner?.close().catch(() => {})
    const spawner = openSpawner({
      bash,
      controlParent:
        ['/dev/shm', tmpdir(), '/tmp'].map(real).find(dir => dir !== undefined && isWritable(dir)) ?? '/tmp',
      tempParent: real(tmpdir()) ?? '/tmp',
      path: this.#path.join(':'),
      maxProcesses: this.#config.max_processes,
      maxMemoryMb: this.#config.max_memory_mb,
    })
    this.#spawner = spawner
    writeFileSync(join(spawner.dir, 'blank'), '', { mode: 0o444 })
    mkdirSync(join(spawner.dir, 'void'), { mode: 0o555 })
    writeFileSync(join(spawner.dir, 'none.filter'), '')
    for (const network of ['allow', 'deny'] as const)
      writeFileSync(join(spawner.dir, `${network}.filter`), compileSocketFilter(network, process.arch) ?? '')
    return spawner
  }

  #sessionDir(spawner: Spawner, session: string): string {
    const dir = join(spawner.tempDir, shortHash(session))
    if (mkdirSync(dir, { recursive: true })) chmodSync(dir, 0o1777)
    return dir
  }

  /** One for each workspace: what one tenant's builds left in a cache is not what another's trust. */
  #privateHome(root: string, spawner: Spawner): string {
    const preferred = this.#config.cache_dir || (this.#home && join(this.#home, '.cache', 'runwright'))
    for (const base of [preferred, spawner.tempDir]) {
      if (!base) continue
      try {
        const dir = join(base, 'homes', shortHash(root))
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        return real(dir) ?? dir
      } catch {
        // Not writable for us: the next one is.
      }
    }
    return join(spawner.dir, 'void')
  }

  #find(program: string): string | undefined {
    return this.#path.map(dir => join(dir, program)).find(isExecutable)
  }
}

/** What every command is given; nothing of it comes from the daemon's environment but the PATH. */
const environmentOf = (path: readonly string[], home = '/tmp'): Readonly<Record<string, string>> => ({
  PATH: path.join(':'),
  HOME: home,
  USER: userInfo().username,
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  // Inside, root may not give files away, which tar would otherwise try for every file.
  ...(process.getuid?.() === 0 ? { TAR_OPTIONS: '--no-same-owner' } : {}),
})

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24)

const isExecutable = (path: string): boolean => may(path, constants.X_OK)
const isWritable = (path: string): boolean => may(path, constants.W_OK)

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
