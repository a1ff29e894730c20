import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** What ticks, listens or watches. Also found when unref'd, unlike with `process.getActiveResourcesInfo`. */
const HANDLES: Readonly<Record<string, string>> = {
  Timeout: 'timer',
  TCPSERVERWRAP: 'server',
  PIPESERVERWRAP: 'server',
  TCPWRAP: 'socket',
  UDPWRAP: 'socket',
  FSEVENTWRAP: 'watch',
  STATWATCHER: 'watch',
  PROCESSWRAP: 'child process',
  MESSAGEPORT: 'worker or message port',
}

/**
 * Runs `work` and says which handles it, and everything it started, has left open at the end. Handles of other work in
 * the process do not count.
 */
export async function handlesLeftBy(work: () => Promise<void>): Promise<readonly string[]> {
  const here = new AsyncLocalStorage<true>()
  const open = new Map<number, string>()
  const hook = createHook({
    init(id, type) {
      const kind = HANDLES[type]
      if (kind !== undefined && here.getStore() === true) open.set(id, kind)
    },
    destroy: id => void open.delete(id),
  })
  hook.enable()
  try {
    await here.run(true, work)
    // Closing is told some turns after it was asked for.
    for (let turn = 0; turn < 50 && open.size > 0; turn += 1) await nextTurn()
    return [...open.values()]
  } finally {
    hook.disable()
  }
}
