import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { request } from 'undici'
import { RunClient } from './run-client.js'

/** A daemon under measurement, in a process of its own. */
export interface Subject {
  readonly pid: number
  readonly client: RunClient
  /** Milliseconds from spawn to the first answer of `/healthz`. */
  readonly coldStartMs: number
  /** The tool that stands for a cheap step in process. */
  readonly readTool: ToolScript
  readonly shellTool: ToolScript
  stop(): Promise<void>
}

export interface ToolScript {
  readonly name: string
  readonly args: string
}

/** How a subject is started. */
export interface SubjectPlan {
  /** Arguments of Node: the entry file and what follows it. */
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  readonly port: number
  readonly readTool: ToolScript
  readonly shellTool: ToolScript
}

const READY_MS = 30_000
const STOP_MS = 16_000

/** Starts it and waits for `/healthz`; rejects with the end of its log when it does not come up. */
export async function startSubject(plan: SubjectPlan): Promise<Subject> {
  const origin = `http://127.0.0.1:${plan.port}`
  const startedAt = performance.now()
  const child = spawn(process.execPath, plan.args, {
    cwd: plan.cwd,
    env: { PATH: process.env.PATH, LANG: 'C.UTF-8', ...plan.environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-8_192)
  })
  const exited = new Promise<void>(resolve => child.once('close', () => resolve()))
  try {
    while (!(await isHealthy(origin))) {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
      if (performance.now() - startedAt > READY_MS) throw new Error(`no answer within ${READY_MS} ms`)
      await pause(3)
    }
  } catch (cause) {
    child.kill('SIGKILL')
    throw new Error(`${plan.args[0]} did not start: ${log}`, { cause })
  }
  const coldStartMs = performance.now() - startedAt
  const client = new RunClient(origin)
  return {
    pid: child.pid as number,
    client,
    coldStartMs,
    readTool: plan.readTool,
    shellTool: plan.shellTool,
    async stop() {
      await client.close()
      await end(child, exited)
    },
  }
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

/** Asks politely, then does not ask. */
export async function end(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(late)
}

async function isHealthy(origin: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${origin}/healthz`, { signal: AbortSignal.timeout(250) })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}

export const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
