import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ReloadReport } from '../reload-process.js'
import { end } from '../subject.js'
import type { Figures } from './cell.js'

const LIMIT_MS = 300_000

/** Reloads one plugin among twenty so many times, in a daemon of its own with SQLite stores. */
export async function measureReload(dir: string, reloads: number): Promise<Figures> {
  const child = fork(join(import.meta.dirname, '../reload-process.js'), [dir, String(reloads)], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH: process.env.PATH },
  })
  const exited = new Promise<void>(resolve => child.once('close', () => resolve()))
  const gone = new AbortController()
  void exited.then(() => gone.abort())
  try {
    const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(LIMIT_MS)])
    const [report] = (await once(child, 'message', { signal })) as [ReloadReport]
    return {
      reloadP50Ms: report.p50Ms,
      reloadHeapKb: report.heapKbPerReload,
      reloadEpochsAlive: report.epochsAlive,
      reloadPlugins: report.plugins,
    }
  } finally {
    await end(child, exited)
  }
}
