import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { DaemonConfig } from '#kernel/index'

/** What a child daemon can be told: everything of a `DaemonConfig` that is data. */
export type ChildConfig = Omit<DaemonConfig, 'log'>

/** A daemon in a child process. */
export interface DaemonProcess {
  readonly url: string
  readonly pid: number
  /** Runs it took over from its predecessor. */
  readonly claimed: number
  /** Milliseconds from spawn to the first answered request. */
  readonly readyMs: number
  /** The last of what it wrote to stderr. */
  log(): string
  /** Ends it with no chance to tidy up; resolves when it is gone. */
  kill(): Promise<void>
  /** Asks it to stop; resolves with the exit code. */
  terminate(): Promise<number | null>
}

const READY = /ready (\S+) (\d+)\n/
const READY_MS = 50_000

/** Starts one and waits until it listens; rejects with its log when it ends before that. */
export async function spawnDaemon(config: ChildConfig): Promise<DaemonProcess> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [join(import.meta.dirname, 'daemon-child.js'), JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  })
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-16_384)
  })
  const exited = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)))
  const ready = await readyLine(child, exited, () => log)
  return {
    url: ready[1] as string,
    claimed: Number(ready[2]),
    pid: child.pid as number,
    readyMs: performance.now() - startedAt,
    log: () => log,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    terminate() {
      child.kill('SIGTERM')
      return exited
    },
  }
}

function readyLine(child: ChildProcess, exited: Promise<number | null>, log: () => string): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = ''
    const late = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`no daemon after ${READY_MS} ms: ${log()}`))
    }, READY_MS)
    void exited.then(code => {
      clearTimeout(late)
      reject(new Error(`the daemon ended with ${code} before it listened: ${log()}`))
    })
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const found = READY.exec(text)
      if (!found) return
      clearTimeout(late)
      resolve(found)
    })
  })
}
