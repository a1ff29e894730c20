import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const ROUNDS = 50

/** A control group whose members together may be `max` processes and threads. */
export interface ProcessLimit {
  readonly dir: string
  add(pid: number): void
  /** Removes the group once its members are gone. */
  close(): Promise<void>
}

/**
 * Makes a control group below the daemon's own, where that is allowed: RLIMIT_NPROC does not hold root. Undefined where
 * it is not, as in most containers and for most ordinary users; the resource limit is then all there is.
 */
export function openProcessLimit(name: string, max: number): ProcessLimit | undefined {
  const parent = max > 0 ? pidsGroup() : undefined
  if (!parent) return undefined
  const dir = join(parent, name)
  try {
    mkdirSync(dir)
  } catch {
    return undefined
  }
  const close = async () => {
    for (let round = 0; round < ROUNDS && existsSync(dir); round++) {
      try {
        rmdirSync(dir)
      } catch {
        // Its last members are still on their way out.
        await delay(20, undefined, { ref: false })
      }
    }
  }
  try {
    writeFileSync(join(dir, 'pids.max'), String(max))
  } catch {
    void close()
    return undefined
  }
  return { dir, add: pid => writeFileSync(join(dir, 'cgroup.procs'), String(pid)), close }
}

/** The daemon's control group for counting processes, of either version. */
function pidsGroup(): string | undefined {
  try {
    const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')
    const old = lines.find(line => line.split(':')[1]?.split(',').includes('pids'))
    if (old) return join('/sys/fs/cgroup/pids', old.split(':').slice(2).join(':'))
    const unified = lines.find(line => line.startsWith('0::'))
    return unified && join('/sys/fs/cgroup', unified.slice('0::'.length))
  } catch {
    return undefined
  }
}
