import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { answeredBy } from './answered-by.js'

const MAIN = resolve(import.meta.dirname, '../../kernel/main.js')
const READY_MS = 50_000

/** `runwright serve` in a process of its own, started as an operator starts it. */
export interface ServeProcess {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Everything it wrote to stderr. */
  log(): string
  signal(name: NodeJS.Signals): void
  /** Exit code and signal, when it is gone. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

export interface ServeOptions {
  /** Home of the process; its workspace and its databases are in there. */
  readonly dir: string
  readonly modelUrl: string
  readonly isDurable: boolean
  readonly pluginDirs?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts it and waits until it listens. */
export async function spawnServe(options: ServeOptions): Promise<ServeProcess> {
  const { dir, modelUrl, isDurable, pluginDirs = [], environment } = options
  const config = join(dir, 'deployment.toml')
  await mkdir(join(dir, 'workspace'), { recursive: true })
  await writeFile(config, `plugin_dirs = ${JSON.stringify(pluginDirs)}\n`)
  const child = spawn(process.execPath, [MAIN, 'serve', '--addr', '127.0.0.1:0', '--config', config], {
    cwd: dir,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: dir,
      ...answeredBy(modelUrl),
      SVC_AUTH_DISABLED: 'true',
      SVC_WATCH_ENABLED: 'false',
      SVC_WORKSPACE: join(dir, 'workspace'),
      ...(isDurable && { SVC_RUN_DB: join(dir, 'runs.db'), SVC_CONVERSATION_DB: join(dir, 'conversations.db') }),
      ...environment,
    },
  })
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const exited = new Promise<Awaited<ServeProcess['exited']>>(done =>
    child.once('exit', (code, signal) => done({ code, signal })),
  )
  const url = await listening(child, exited, () => log)
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid as number,
    log: () => log,
    signal: name => void child.kill(name),
    exited,
  }
}

function listening(child: ChildProcess, exited: Promise<unknown>, log: () => string): Promise<string> {
  return new Promise((done, fail) => {
    const look = setInterval(() => {
      const found = /"url":"([^"]+)"/.exec(log())?.[1]
      if (found === undefined) return
      stop()
      done(found)
    }, 20)
    const late = setTimeout(() => {
      stop()
      child.kill('SIGKILL')
      fail(new Error(`not listening after ${READY_MS} ms: ${log()}`))
    }, READY_MS)
    const stop = (): void => {
      clearInterval(look)
      clearTimeout(late)
    }
    void exited.then(() => {
      stop()
      fail(new Error(`ended before it listened: ${log()}`))
    })
  })
}
