import { resolve } from 'node:path'
import { DatabaseThread } from './database-thread.js'
import { CONTROL, type Value } from './protocol.js'
import { createStoreClock } from './store-clock.js'

/** The path that stands for a database in memory: for namespaces nobody configured a file for. */
const IN_MEMORY = ':memory:'

/** One opened database file. */
export interface OpenDatabase {
  readonly path: string
  /** Milliseconds since the epoch; never goes back, also not below what the file has seen in former processes. */
  now(): number
  /** Resolves when it is durable. */
  send(name: string, args: readonly Value[]): Promise<readonly Value[]>
}

export interface Databases {
  /** Opens the file, or shares it when it is open here already. `undefined`: in memory, kept until `close`. */
  open(path: string | undefined): Promise<OpenDatabase>
  /** Gives back one `open`; the last one closes the file and lets go of its lock. */
  release(database: OpenDatabase): Promise<void>
  /** Finishes what was sent, closes every file and ends the thread, within five seconds. */
  close(): Promise<void>
}

interface Shared {
  readonly opened: Promise<OpenDatabase>
  readonly number: number
  users: number
}

/**
 * The files this process has open, on one thread. It outlives reloads of the plugin: both generations share one
 * connection and one lock. Without `isExclusive` the lock is not taken, as the command line does it beside a daemon.
 */
export function createDatabases({ isExclusive = true } = {}): Databases {
  const thread = new DatabaseThread()
  const files = new Map<string, Shared>()
  let opened = 0

  async function openFile(path: string, number: number): Promise<OpenDatabase> {
    const isFile = path !== IN_MEMORY
    const [clock] = await thread.send(CONTROL, 'open', [number, path, isFile && isExclusive ? 1 : 0])
    // Nobody of this process holds anything yet, and no other process may: the holders are gone.
    if (isExclusive)
      await thread.send(number, 'run.freeAll', []).catch(async error => {
        await thread.send(CONTROL, 'close', [number])
        throw error
      })
    return { path, now: createStoreClock(Number(clock)), send: (name, args) => thread.send(number, name, args) }
  }

  return {
    async open(path) {
      const key = path === undefined ? IN_MEMORY : resolve(path)
      let file = files.get(key)
      if (!file) {
        opened += 1
        file = { opened: openFile(key, opened), number: opened, users: 0 }
        files.set(key, file)
      }
      file.users += 1
      try {
        return await file.opened
      } catch (error) {
        if (files.get(key) === file) files.delete(key)
        throw error
      }
    },

    async release(database) {
      const file = files.get(database.path)
      if (!file || database.path === IN_MEMORY) return
      file.users -= 1
      if (file.users > 0) return
      files.delete(database.path)
      await thread.send(CONTROL, 'close', [file.number])
    },

    async close() {
      const numbers = [...files.values()].map(file => file.number)
      files.clear()
      for (const number of numbers) thread.send(CONTROL, 'close', [number]).catch(() => undefined)
      await thread.close()
    },
  }
}
