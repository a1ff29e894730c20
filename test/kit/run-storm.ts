import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { StormReport } from './reload-storm.js'

const run = promisify(execFile)

/** Reloads a daemon in a process of its own this many times, then touches its plugin files that many times. */
export async function runStorm(reloads: number, touches: number, timeoutMs: number): Promise<StormReport> {
  const script = join(import.meta.dirname, 'reload-storm.js')
  const { stdout } = await run(process.execPath, ['--expose-gc', script, String(reloads), String(touches)], {
    timeout: timeoutMs,
    maxBuffer: 16 * 1024 * 1024,
    env: { PATH: process.env.PATH },
  })
  return JSON.parse(stdout.slice(stdout.lastIndexOf('{"reloads"')))
}

/** What every storm leaves, however long it was. */
export const CALM = {
  wrongRuns: 0,
  epochsAlive: 1,
  newThreads: 0,
  epochsByTouching: 0,
  errors: [],
} as const
