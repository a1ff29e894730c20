import { type ChildProcess, spawn } from 'node:child_process'
import { setMaxListeners } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { NetworkPlan } from './network-plan.js'
import { isUnused } from './pipe-check.js'
import { type NetworkPrograms, openPrivateNetwork, type PrivateNetwork } from './private-network.js'
import { openProcessLimit } from './process-limit.js'
import { isRunning } from './process-state.js'
import { removeTree } from './remove-tree.js'
import { SPAWNER_SCRIPT } from './spawner-script.js'

export interface SpawnerOptions {
  readonly bash: string
  /** Where the spawner's pipes and files are made, in memory if possible; real path. */
  readonly controlParent: string
  /** Where the temporary files of commands are kept; real path. */
  readonly tempParent: string
  readonly path: string
  /** 0: no limit. */
  readonly maxProcesses: number
  readonly maxMemoryMb: number
}

export interface Launch {
  readonly argv: readonly string[]
  /** What the launcher reads from OPTIONS_FD. */
  readonly options: readonly string[]
  readonly stdin: string | undefined
  readonly mergesOutput: boolean
  /** Which file of the spawner's directory, `<filter>.filter`, is opened as FILTER_FD; of `none` nothing stays open. */
  readonly filter: 'allow' | 'deny' | 'none'
  /** The launcher gets MOUNTED_FD and GO_FD. */
  readonly isHeld: boolean
  /** Starts it there instead of in the daemon's own network. */
  readonly network: PrivateNetwork | undefined
}

/** A started launcher. Its sockets end when every process that holds the other end is gone. */
export interface Launched {
  readonly pid: number
  readonly stdout: Socket
  readonly stderr: Socket | undefined
  /** What bwrap reports about itself. */
  readonly status: Socket
  /** Fires when the spawner is gone: a launcher so young that it does not yet die with its parent has to be ended. */
  readonly lost: AbortSignal
  /** Lets one that is held go on. */
  proceed(): void
  /** Gives the pipes back for the next command; call it only when no process of this one is left. Those it handed on go. */
  release(): void
}

/**
 * A small process that starts commands for the daemon. Node copies its page tables with every `spawn`, 3 ms at 100 MB
 * and on the main thread; a shell of 3 MB forks in 0.3 ms. It holds none of the daemon's environment or descriptors,
 * and when the daemon dies, however, it kills what it started and removes its directory.
 */
export interface Spawner {
  /** Private to the daemon's user; everything in it goes with the spawner. */
  readonly dir: string
  /** The same, on a disk. */
  readonly tempDir: string
  readonly isAlive: boolean
  /** Rejects with `NotStarted` when it ended before it could start it. */
  launch(launch: Launch): Promise<Launched>
  /** Throws `NetworkProblem` when it cannot be had, `NotStarted` when the spawner ended meanwhile. It ends with the spawner at the latest. */
  openNetwork(programs: NetworkPrograms, plan: NetworkPlan): Promise<PrivateNetwork>
  /** Lets it kill what runs and clean up, and sees to it that this is done. */
  close(): Promise<void>
}

/** The command did certainly not start, because what was to start it has ended; another one can. */
export class NotStarted extends Error {}

const START_TIMEOUT_MS = 15_000
const CLOSE_TIMEOUT_MS = 3000

/** What a held launcher's standard output begins with, once its mounts are made. */
export const MOUNTED = Buffer.from('mounted\0')

export function openSpawner(options: SpawnerOptions): Spawner {
  const dir = mkdtempSync(join(options.controlParent, 'runwright-'))
  const tempDir = mkdtempSync(join(options.tempParent, 'runwright-tmp-'))
  writeFileSync(join(dir, 'mounted'), MOUNTED, { mode: 0o400 })
  const child = spawn(
    options.bash,
    ['--norc', '--noprofile', '-c', SPAWNER_SCRIPT, 'spawner', tempDir, ...limits(options)],
    {
      cwd: dir,
      env: { PATH: options.path, LC_ALL: 'C' },
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    },
  )
  const limit = openProcessLimit(basename(dir), options.maxProcesses)
  // It waits for this line before anything else, so that nothing is ever started outside of the group.
  if (child.pid !== undefined) limit?.add(child.pid)
  child.stdin?.write(`${limit?.dir ?? ''}\n`)
  // One that is being closed is not to be stopped while it cleans up.
  const answers = listen(child, () => isAlive && fail())
  const control = child.stdin
  const freeSlots: string[] = []
  const freeNetworks: string[] = []
  let made = 0
  let isAlive = true
  const lost = new AbortController()
  setMaxListeners(0, lost.signal)
  const end = () => {
    isAlive = false
    lost.abort()
  }
  // With the rest of it, so that nobody is left who could still start what it was told to.
  const fail = () => {
    end()
    if (child.pid !== undefined) killGroup(child.pid)
  }
  child.once('error', () => {
    fail()
    answers.end()
  })
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  child.once('exit', fail)
  control?.on('error', fail)
  child.unref()
  ;(control as Socket | null)?.unref()

  const ask: Ask = (words, network) => {
    if (!isAlive || network?.lost.aborted) return Promise.reject(gone())
    const answer = answers.next(words, network)
    const line = `${words.join(' ')}\n`
    if (network) network.send(line)
    else control?.write(line)
    return answer
  }

  async function freeName(free: string[], fresh: () => string, pipes: readonly string[]): Promise<string> {
    const name = free.pop()
    if (name !== undefined) return name
    const made = fresh()
    await ask(['make', made, ...pipes])
    return made
  }

  return {
    dir,
    tempDir,
    get isAlive() {
      return isAlive && isRunning(child.pid ?? 0)
    },
    async launch({ argv, options, stdin, mergesOutput, filter, isHeld, network }) {
      const pipes = ['out', 'err', 'status', 'go']
      const slot = await freeName(freeSlots, () => String(made++), pipes)
      const file = (name: string) => join(dir, `${slot}.${name}`)
      for (const [name, words] of Object.entries({ argv, options }))
        writeFileSync(file(name), words.map(word => `${word}\0`).join(''), { mode: 0o600 })
      if (stdin !== undefined) writeFileSync(file('in'), stdin, { mode: 0o600 })
      const sockets = ['out', ...(mergesOutput ? [] : ['err']), 'status'].map(name => openReader(file(name)))
      const [input, output] = [stdin === undefined ? '/dev/null' : `${slot}.in`, `${slot}.out`]
      const errors = mergesOutput ? '/dev/fd/1' : `${slot}.err`
      const started = ask(['run', slot, input, output, errors, filter, ...(isHeld ? ['held'] : [])], network)
      const pid = await started.catch(error => {
        for (const fd of sockets) closeSync(fd)
        if (error instanceof NotStarted) freeSlots.push(slot)
        throw error
      })
      const [stdout, ...others] = sockets.map(fd => new Socket({ fd, readable: true, writable: false }))
      const status = others.pop()
      if (!stdout || !status) throw gone()
      if (stdin !== undefined) rmSync(file('in'), { force: true })
      const proceed = () => letGo(file('go'))
      const release = () => {
        if (isUnused(file('out')) && (mergesOutput || isUnused(file('err')))) freeSlots.push(slot)
        else for (const name of [...pipes, 'argv', 'options']) rmSync(file(name), { force: true })
      }
      return { pid, stdout, stderr: others[0], status, lost: network ? network.lost : lost.signal, proceed, release }
    },
    async openNetwork(programs, plan) {
      const pipes = ['control', 'life', 'ready', 'carrier']
      const name = await freeName(freeNetworks, () => `n${made++}`, pipes)
      const release = () => void freeNetworks.push(name)
      const network = await openPrivateNetwork({ dir, name, programs, plan, ask, release, signal: lost.signal })
      // What its shell said at the last was said before this is answered.
      void network.over
        .then(() => ask(['echo', name]))
        .then(
          () => answers.end(network),
          () => undefined,
        )
      return network
    },
    async close() {
      const wasAlive = isAlive
      end()
      control?.end()
      if (wasAlive) await Promise.race([exited, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })])
      if (child.pid !== undefined) killGroup(child.pid)
      for (const path of [dir, tempDir]) await removeTree(path)
      await limit?.close()
    },
  }
}

const gone = () => new NotStarted('the process that starts commands has ended')

const limits = ({ maxProcesses, maxMemoryMb }: SpawnerOptions) => [String(maxProcesses), String(maxMemoryMb * 1024)]

/** Opened before the writer is told to open: a reader that comes first never blocks and sees no early end. */
const openReader = (path: string): number => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)

function letGo(pipe: string): void {
  try {
    const fd = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
    writeSync(fd, 'g')
    closeSync(fd)
  } catch {
    // The launcher is gone, and with it who read.
  }
}

/** Writes a line to the spawner, or to the shell of a network, and resolves to the number of its answer. */
export type Ask = (
  words: readonly [word: string, name: string, ...string[]],
  network?: PrivateNetwork,
) => Promise<number>

/** Answers of the spawner and of the shells of networks, by word and name. None is lost: the last are read before the end. */
function listen(child: ChildProcess, ended: () => unknown) {
  const waiting = new Map<string, Waiting>()
  const answers = child.stdio[3] as Socket | undefined
  let rest = ''
  let hasEnded = false
  const end = (network?: PrivateNetwork) => {
    hasEnded ||= network === undefined
    for (const one of [...waiting.values()]) if (!network || one.network === network) one.settle()
  }
  answers?.unref()
  answers?.on('error', () => {})
  answers?.once('close', () => {
    ended()
    end()
  })
  answers?.on('data', (data: Buffer) => {
    const lines = (rest + data.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [word, name, pid] = line.split(' ')
      waiting.get(`${word} ${name}`)?.settle(Number(pid))
    }
  })
  return {
    next: ([word, name]: readonly string[], network?: PrivateNetwork) =>
      new Promise<number>((resolve, reject) => {
        const timer = setTimeout(() => {
          // It cannot fork, or somebody stopped it: nothing it would say later can be trusted.
          if (child.pid !== undefined) killGroup(child.pid)
        }, START_TIMEOUT_MS)
        const settle = (pid?: number) => {
          clearTimeout(timer)
          waiting.delete(`${word} ${name}`)
          pid === undefined ? reject(gone()) : resolve(pid)
        }
        if (hasEnded) settle()
        else waiting.set(`${word} ${name}`, { network, settle })
      }),
    /** No further answer comes, or none from the shell of `network`. */
    end,
  }
}

interface Waiting {
  readonly network: PrivateNetwork | undefined
  settle(pid?: number): void
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // Already gone.
  }
}
