import { spawn } from 'node:child_process'
import { resolve } from 'node:path'

/** The program of this package. */
export const PACKAGE_DIR = resolve(import.meta.dirname, '../../..')
const MAIN = resolve(PACKAGE_DIR, 'dist/kernel/main.js')

export interface CliOptions {
  readonly cwd?: string
  readonly environment?: Readonly<Record<string, string>>
  /** The program to start; default: this package's. */
  readonly program?: string
}

/** Runs the command line in a process of its own, to its end. */
export async function runCommand(argv: readonly string[], options: CliOptions = {}) {
  const { child, output } = start(argv, options)
  const code = await new Promise<number | null>(done => child.once('close', done))
  return { code, ...output() }
}

/** `runwright serve` in a process of its own, once it listens; rejects with its log when it ends before that. */
export async function serveCommand(argv: readonly string[], options: CliOptions = {}) {
  const { child, output } = start(['serve', ...argv], options)
  const exited = new Promise<number | null>(done => child.once('close', done))
  const url = await new Promise<string>((found, fail) => {
    child.stderr.on('data', () => {
      const [, where] = /"url":"([^"]+)"[^\n]*"msg":"listening"/.exec(output().err) ?? []
      if (where !== undefined) found(where)
    })
    void exited.then(code => fail(new Error(`the daemon ended with ${code}: ${output().err}`)))
  })
  return {
    url,
    log: () => output().err,
    stop: () => {
      child.kill('SIGTERM')
      return exited
    },
  }
}

function start(argv: readonly string[], { cwd, environment, program = MAIN }: CliOptions) {
  const child = spawn(process.execPath, [program, ...argv], {
    ...(cwd !== undefined && { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...environment },
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  return { child, output: () => ({ out, err }) }
}
