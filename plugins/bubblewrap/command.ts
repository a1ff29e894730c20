import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '#contracts/errors'
import type { SandboxCommand, SandboxExit, SandboxRefusal } from '#contracts/sandbox'
import { LeftOver } from './left-over.js'
import { isRunning } from './process-state.js'
import { refuse } from './refusal.js'
import { type Launched, MOUNTED } from './spawner.js'

/** `failed`: the launcher gave up before the command was started; `text` is what it said. */
export type Settled = SandboxExit | SandboxRefusal | { readonly kind: 'failed'; readonly text: string }

/** Looks at what a held launcher has built; the answer is why its command must not start. */
export type Inspect = (initPid: number) => Promise<string | undefined>

/**
 * Sees a started command through to its end: hands its output on, kills it at the time-out or the signal, and settles
 * when no process of it is left. Output that is still in the pipes is handed on first, except after an abort. With
 * `inspect` the launcher is a held one, and goes on only when there is nothing against it.
 */
export async function settle(
  launched: Launched,
  command: SandboxCommand,
  signal: AbortSignal,
  inspect?: Inspect,
): Promise<Settled> {
  const { stdout, stderr, status, lost } = launched
  let ending: 'timed_out' | 'aborted' | 'lost' | 'refused' | undefined
  let objection = ''
  let hasEnded = false
  let broken: { readonly error: unknown } | undefined
  let leftOver: LeftOver | undefined
  const report = new LauncherReport(status)
  const end = (reason: NonNullable<typeof ending>) => {
    ending ??= reason
    void report.started.then(() => {
      kill(report.initPid)
      kill(launched.pid)
    })
    // An error says that nobody waits for the taker any more.
    if (reason === 'aborted') for (const socket of [stdout, stderr]) socket?.destroy(new Error('aborted'))
  }
  const abort = () => end('aborted')
  const orphan = () => end('lost')
  const refused = (error: unknown) => {
    broken ??= { error }
    abort()
  }
  // The launcher's own complaint comes as output; it is kept until it is known that the command really started.
  const firstWords = new FirstWords()
  const door = inspect && new Door()
  const judge = async () => {
    // The launcher tells the pid before it makes the first mount, but on another pipe.
    await report.started
    objection = await attempt(() => inspect?.(report.initPid ?? 0))
    if (ending) return
    if (objection === '') launched.proceed()
    else end('refused')
  }
  const pump = (socket: Socket | undefined, name: 'stdout' | 'stderr') =>
    socket &&
    drain(
      socket,
      chunk => {
        firstWords.keep(chunk)
        if (door?.isShut && name === 'stdout') {
          if (door.opens(chunk)) void judge()
          return undefined
        }
        leftOver?.count(chunk.length)
        return command.onOutput(chunk, name)
      },
      refused,
    )
  const timer = command.timeoutMs === undefined ? undefined : setTimeout(end, command.timeoutMs, 'timed_out')
  signal.addEventListener('abort', abort, { once: true })
  lost.addEventListener('abort', orphan, { once: true })
  if (signal.aborted) abort()
  if (lost.aborted) orphan()
  try {
    const said = Promise.all([pump(stdout, 'stdout'), pump(stderr, 'stderr')])
    await report.ended
    const { initPid } = report
    leftOver = new LeftOver([stdout, stderr], () => initPid === undefined || !isRunning(initPid))
    await said
    hasEnded = report.initPid === undefined || (await processSpaceEnded(report.initPid))
  } finally {
    leftOver?.stop()
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    lost.removeEventListener('abort', orphan)
  }
  if (hasEnded) launched.release()
  if (broken) throw broken.error
  if (ending === 'lost') return refuse(KILLED)
  if (ending === 'refused') return refuse(objection)
  if (ending) return { kind: ending }
  const code = report.exitCode
  if (code === undefined) {
    const text = firstWords.text()
    // It does not end like this without a complaint, unless it is killed; then these are the command's own words.
    return COMPLAINT.test(text) ? { kind: 'failed', text } : refuse(KILLED)
  }
  return { kind: 'exited', code }
}

/** Reads `{ "child-pid": 7 }` and `{ "exit-code": 0 }` as bwrap writes them; an end without a code is a failed start. */
class LauncherReport {
  readonly ended: Promise<void>
  /**
   * The launcher has told its child's pid, or is over. Killed any earlier, it could leave behind a child that does not
   * yet know to die with its parent.
   */
  readonly started: Promise<void>
  #text = ''
  constructor(status: Socket) {
    let start = () => {}
    this.started = new Promise(resolve => {
      start = resolve
    })
    const read = (chunk: Uint8Array) => {
      if (this.#text.length < 4096) this.#text += Buffer.from(chunk).toString('latin1')
      if (this.initPid !== undefined) start()
    }
    this.ended = drain(status, read, () => {}).finally(start)
  }
  get initPid(): number | undefined {
    return this.#number(CHILD_PID)
  }
  get exitCode(): number | undefined {
    return this.#number(EXIT_CODE)
  }
  #number(pattern: RegExp): number | undefined {
    const [, digits] = this.#text.match(pattern) ?? []
    return digits === undefined ? undefined : Number(digits)
  }
}

const COMPLAINT = /^(bwrap|spawner|spawner-of-root|network): /

const KILLED =
  'The process that holds the command was killed from outside, and the command with it. It may have run in part; ' +
  'the next one is not affected.'

const CHILD_PID = /"child-pid": (\d+)/
const EXIT_CODE = /"exit-code": (\d+)/
const FIRST_BYTES = 1024

/** What cannot be looked at is not in order. */
async function attempt(look: () => Promise<string | undefined> | undefined): Promise<string> {
  try {
    return (await look()) ?? ''
  } catch (error) {
    return `What was built for the command could not be looked at: ${messageOf(error)}. Nothing was run.`
  }
}

/**
 * Waits for the word of a held launcher. Until it has leave to go on, nothing else can be in the pipe but its complaint,
 * if standard error goes there too.
 */
class Door {
  #seen = Buffer.alloc(0)
  isShut = true
  opens(chunk: Uint8Array): boolean {
    if (this.#seen.length < FIRST_BYTES) this.#seen = Buffer.concat([this.#seen, chunk.subarray(0, FIRST_BYTES)])
    this.isShut = !this.#seen.subarray(-MOUNTED.length).equals(MOUNTED)
    return !this.isShut
  }
}

class FirstWords {
  #bytes = Buffer.alloc(0)
  keep(chunk: Uint8Array): void {
    if (this.#bytes.length < FIRST_BYTES) this.#bytes = Buffer.concat([this.#bytes, chunk.subarray(0, FIRST_BYTES)])
  }
  text(): string {
    return this.#bytes.toString('utf8').replace(MOUNTED.toString(), '').trim()
  }
}

type Take = (chunk: Uint8Array) => Promise<void> | undefined | void

/**
 * Resolves when the socket has closed and all it brought is taken; when it was destroyed with an error, at once. Reads
 * no further while `take` is busy.
 */
function drain(socket: Socket, take: Take, failed: (error: unknown) => void): Promise<void> {
  return new Promise(resolve => {
    let busy: Promise<void> | undefined
    socket.on('data', chunk => {
      try {
        const taking = take(chunk as unknown as Uint8Array)
        if (!taking) return
        socket.pause()
        busy = taking.then(() => void socket.resume(), failed)
      } catch (error) {
        failed(error)
      }
    })
    socket.on('error', () => {})
    socket.once('close', hadError => (busy && !hadError ? void busy.then(() => resolve()) : resolve()))
  })
}

const PATIENCE_ROUNDS = 5000

/**
 * bwrap leaves its pid 1 to be killed behind it; the kernel lets that process end only after all others in its space.
 * Nearly always that has happened by the time we look.
 */
async function processSpaceEnded(initPid: number): Promise<boolean> {
  for (let round = 0; round < PATIENCE_ROUNDS && isRunning(initPid); round++) {
    if (round % 100 === 50) kill(initPid)
    await delay(1)
  }
  return !isRunning(initPid)
}

function kill(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}
