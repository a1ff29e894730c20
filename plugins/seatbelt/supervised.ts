import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { SandboxCommand, SandboxExit } from '#contracts/sandbox'

export interface Supervised {
  readonly bash: string
  /** What goes before the command: `sandbox-exec` and its profile, or nothing. */
  readonly launcher: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** `failed`: the launcher gave up before the command was started; `text` is what it said. */
export type Ended = SandboxExit | { readonly kind: 'failed'; readonly text: string }

/**
 * Leads the process group of one command. Descriptor 3 goes to the daemon: its end means that the daemon is gone, and
 * the group is killed. The command's exit code is told there, then what it left behind in the group is killed too.
 */
const SUPERVISOR = `
ulimit -S -c 0
exec 5>&2 2>/dev/null
# What the daemon itself was started with is not for its commands.
for open in /dev/fd/*; do
  case \${open##*/} in
  [0-3] | 5) ;;
  *) eval "exec \${open##*/}>&-" ;;
  esac
done
(read -r -u 3 _; kill -KILL 0) </dev/null >/dev/null 5>&- &
if [ "$0" = merged ]; then "$@" <&0 2>&1 5>&- & else "$@" <&0 2>&5 5>&- & fi
command=$!
exec </dev/null >/dev/null 5>&-
wait "$command"
printf 'ended %s\\n' "$?" >&3
kill -KILL 0
`

/** Says, from inside, that the profile was taken and the program is there; then becomes the command. */
const BEGINNING = `
command -v -- "$1" >/dev/null || { echo "the program $1 was not found" >&2; exit 127; }
echo started >&3
exec "$@" 3>&-
`

/** `-p`: nothing in the command's environment (BASH_ENV, exported functions) acts on a shell that is not yet confined. */
const PLAIN = ['--norc', '--noprofile', '-p', '-c']

const GRACE_MS = 500

/**
 * Runs a command in a process group of its own and settles when the group is gone. Killed at the time-out, at the
 * signal, and with the daemon, however that ends.
 */
export async function runSupervised(
  supervised: Supervised,
  command: SandboxCommand,
  signal: AbortSignal,
): Promise<Ended> {
  const { bash, launcher, cwd, env } = supervised
  const child = spawn(
    bash,
    [
      ...[...PLAIN, SUPERVISOR, command.mergesOutput ? 'merged' : 'apart'],
      ...[...launcher, bash, ...PLAIN, BEGINNING, 'beginning', ...command.argv],
    ],
    {
      cwd,
      env,
      detached: true,
      stdio: [
        command.stdin === undefined ? 'ignore' : 'pipe',
        'pipe',
        command.mergesOutput ? 'ignore' : 'pipe',
        'pipe',
      ],
    },
  )
  let ending: 'timed_out' | 'aborted' | undefined
  let broken: { readonly error: unknown } | undefined
  const end = (reason: 'timed_out' | 'aborted') => {
    ending ??= reason
    killGroup(child)
    // An abort says that nobody waits for the taker any more.
    if (reason === 'aborted') for (const stream of [child.stdout, child.stderr]) stream?.destroy()
  }
  const abort = () => end('aborted')
  const report = textOf(child.stdio[3] as Readable)
  const firstWords: Uint8Array[] = []
  const pump = (stream: Readable | null, name: 'stdout' | 'stderr') =>
    stream &&
    drain(
      stream,
      chunk => {
        if (firstWords.length < 8) firstWords.push(chunk.subarray(0, 512))
        return command.onOutput(chunk, name)
      },
      error => {
        broken ??= { error }
        abort()
      },
    )
  const pumps = Promise.all([pump(child.stdout, 'stdout'), pump(child.stderr, 'stderr')])
  child.stdin?.on('error', () => {}).end(command.stdin)
  const timer = command.timeoutMs === undefined ? undefined : setTimeout(end, command.timeoutMs, 'timed_out')
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    const failure = await new Promise<Error | undefined>(done =>
      child.once('exit', () => done(undefined)).once('error', done),
    )
    if (failure) return { kind: 'failed', text: failure.message }
    await groupEnded(child)
    const patience = setTimeout(() => {
      // Somebody outside of the group holds the other end.
      for (const stream of [child.stdout, child.stderr]) stream?.destroy()
    }, GRACE_MS)
    await pumps
    clearTimeout(patience)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
  if (broken) throw broken.error
  if (ending) return { kind: ending }
  const said = await report
  const code = said.match(/^ended (\d+)$/m)?.[1]
  if (!said.startsWith('started') || code === undefined)
    return { kind: 'failed', text: Buffer.concat(firstWords).toString('utf8').trim() }
  return { kind: 'exited', code: Number(code) }
}

/** False: nothing of the group is left. */
function killGroup({ pid }: ChildProcess): boolean {
  if (pid === undefined) return false
  try {
    return process.kill(-pid, 'SIGKILL')
  } catch {
    return false
  }
}

const PATIENCE_ROUNDS = 100

/** A killed process is gone a moment later; one that nobody collects counts as there, so the wait has an end. */
async function groupEnded(child: ChildProcess): Promise<void> {
  for (let round = 0; round < PATIENCE_ROUNDS && killGroup(child); round++) await delay(2)
}

const REPORT_CHARS = 256

function textOf(stream: Readable): Promise<string> {
  let text = ''
  return new Promise(resolve => {
    stream.on('data', chunk => {
      if (text.length < REPORT_CHARS) text += String(chunk)
    })
    stream.on('error', () => {}).once('close', () => resolve(text))
  })
}

type Take = (chunk: Uint8Array) => Promise<void> | undefined | void

/** Resolves when the stream has closed; what is being taken then is waited for, unless the stream was given up. */
function drain(stream: Readable, take: Take, failed: (error: unknown) => void): Promise<void> {
  return new Promise(resolve => {
    let busy: Promise<void> | undefined
    stream.on('data', chunk => {
      try {
        const taking = take(chunk)
        if (!taking) return
        stream.pause()
        busy = taking.then(() => void stream.resume(), failed)
      } catch (error) {
        failed(error)
      }
    })
    stream.on('error', () => {})
    stream.once('close', () => (busy && stream.readableEnded ? void busy.then(() => resolve()) : resolve()))
  })
}
