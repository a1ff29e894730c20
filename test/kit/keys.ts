import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

const MAIN = resolve(import.meta.dirname, '../../kernel/main.js')
const run = promisify(execFile)

/** Runs `runwright keys ...` in a process of its own, as an operator does; resolves with what it printed as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into the answer freely
export async function keysCommand(database: string, ...args: readonly string[]): Promise<any> {
  const { stdout } = await run(process.execPath, [MAIN, 'keys', ...args, '--db', database, '--json'], {
    env: { PATH: process.env.PATH },
  })
  return JSON.parse(stdout)
}

export interface MadeKey {
  readonly token: string
  readonly prefix: string
}

/** Makes a key through the command line. */
export const makeKey = (database: string, tenant: string, scope: string): Promise<MadeKey> =>
  keysCommand(database, 'create', '--tenant', tenant, '--scope', scope)
