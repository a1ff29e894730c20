import { homedir } from 'node:os'
import type { Sandbox, SandboxCommand, SandboxExit, SandboxPolicy, SandboxRefusal } from '#contracts/sandbox'
import { bwrapArguments } from './arguments.js'
import { isBelow } from './below.js'
import { settle } from './command.js'
import type { BubblewrapConfig } from './config.js'
import { guardRedirects } from './git-redirect.js'
import { type Ground, openGround } from './ground.js'
import type { Lease } from './networks.js'
import { directoryPath, misplacedMount, pinnedMounts, replaced, replacedRoot, rootPath } from './pinned-roots.js'
import { NetworkProblem, type PrivateNetwork } from './private-network.js'
import { environmentOf, findProgram, isExecutable, USUAL_PATH } from './program.js'
import { real } from './real-path.js'
import { BWRAP_MISSING, explainFailure, explainNetwork, refuse } from './refusal.js'
import { compileSocketFilter } from './seccomp.js'
import { NotStarted } from './spawner.js'
import { fileSystemView, type Mount, type Place, readableSecrets } from './view.js'

const MAX_ARGUMENT_BYTES = 120_000
const CHECK_TIMEOUT_MS = 10_000
const MAX_ATTEMPTS = 3

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
  #ground: Ground | undefined

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
    await this.#ground?.endSession(session)
  }

  /** Kills what runs and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
    await this.#ground?.spawner.close()
  }

  async #run(
    command: SandboxCommand,
    policy: SandboxPolicy,
    signal: AbortSignal,
  ): Promise<SandboxExit | SandboxRefusal> {
    const bwrap = this.#config.bwrap_path || findProgram(this.#path, 'bwrap')
    if (!bwrap || !isExecutable(bwrap)) return refuse(BWRAP_MISSING)
    for (let attempt = 1; ; attempt++) {
      const problem = this.#problemOf(command, policy)
      if (problem) return refuse(problem)
      try {
        return await this.#attempt(bwrap, command, policy, signal)
      } catch (error) {
        if (error instanceof NetworkProblem) return explainNetwork(error.message, policy)
        if (!(error instanceof NotStarted)) throw error
        if (signal.aborted) return { kind: 'aborted' }
        if (attempt === MAX_ATTEMPTS) return refuse(`The command was not started: ${error.message}, time and again.`)
      }
    }
  }

  /** Rejects with `NotStarted` when what was to start the command has ended; the next attempt has a new one. */
  async #attempt(
    bwrap: string,
    command: SandboxCommand,
    policy: SandboxPolicy,
    signal: AbortSignal,
  ): Promise<SandboxExit | SandboxRefusal> {
    let lease: Lease | undefined
    try {
      const ground = this.#ensureGround()
      if (!ground) return refuse('The program `bash` was not found on the PATH; install it. Nothing was run.')
      lease = await this.#lease(ground, command, policy)
      if (signal.aborted) return { kind: 'aborted' }
      const mounts = policy.scope === 'unrestricted' ? [] : this.#view(command, policy, ground, lease?.network)
      const pinned = pinnedMounts(mounts, policy)
      const isHeld = pinned.length > 0
      const sweep = guardRedirects(policy)
      const launching = ground.spawner.launch({
        ...this.#arguments(bwrap, command, policy, mounts, isHeld, lease?.network),
        isHeld,
        stdin: command.stdin,
        mergesOutput: command.mergesOutput ?? false,
        filter: policy.scope === 'unrestricted' ? 'none' : policy.network,
        network: lease?.network,
      })
      const inspect = async (pid: number) => {
        const path = await misplacedMount(pinned, pid)
        return path === undefined ? undefined : replaced(path)
      }
      const settled = await launching
        .then(launched => settle(launched, command, signal, isHeld ? inspect : undefined))
        .finally(sweep)
      if (settled.kind === 'refused') return settled
      if (settled.kind === 'failed') {
        this.#proven.delete(`${policy.scope} ${policy.network}`)
        return explainFailure(settled.text, policy)
      }
      if (settled.kind === 'exited') this.#proven.add(`${policy.scope} ${policy.network}`)
      return settled
    } finally {
      lease?.end()
    }
  }

  /** Commands under one policy share a network, so that a server one of them left running is there for the next. */
  async #lease({ networks }: Ground, { session }: SandboxCommand, policy: SandboxPolicy): Promise<Lease | undefined> {
    if (policy.scope === 'unrestricted' || policy.network === 'deny') return undefined
    if (this.#config.allowed_network === 'host') return undefined
    if (policy.tenantId !== undefined) return networks.lease(JSON.stringify(policy))
    return networks.lease(session === undefined ? undefined : JSON.stringify([session, policy]))
  }

  #problemOf({ argv, cwd }: SandboxCommand, policy: SandboxPolicy): string | undefined {
    const gone = replacedRoot(policy)
    if (gone !== undefined) return replaced(gone)
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

  #view(command: SandboxCommand, policy: SandboxPolicy, ground: Ground, network: PrivateNetwork | undefined) {
    const root = rootPath(policy.root, policy) ?? policy.root
    const { dir, tempDir } = ground.spawner
    const place: Place = {
      home: this.#home,
      path: this.#programDirs,
      privateHome: policy.scope === 'workspace' ? ground.privateHome(root) : '',
      privateTemp: command.session === undefined ? undefined : ground.sessionDir(command.session),
      blank: ground.blank,
      void: ground.void,
      resolver: network?.resolver,
      hiddenPaths: [...this.#config.hidden_paths, dir, tempDir],
      systemSecrets: this.#systemSecrets,
    }
    return fileSystemView(policy, place)
  }

  #arguments(
    bwrap: string,
    command: SandboxCommand,
    policy: SandboxPolicy,
    mounts: readonly Mount[],
    isHeld: boolean,
    network: PrivateNetwork | undefined,
  ) {
    return bwrapArguments({
      bwrap,
      policy,
      mounts,
      isHeld,
      hasNetwork: network !== undefined,
      cwd: directoryPath(command.cwd, policy),
      env: { ...this.#environment, ...command.env },
      argv: command.argv,
      user: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
    })
  }

  #ensureGround(): Ground | undefined {
    if (this.#ground?.spawner.isAlive) return this.#ground
    const bash = findProgram(this.#path, 'bash')
    if (!bash) return undefined
    // Its successor does not wait for the rest of a dead one to be swept up.
    this.#ground?.spawner.close().catch(() => {})
    this.#ground = openGround({ config: this.#config, bash, path: this.#path, home: this.#home })
    return this.#ground
  }
}
