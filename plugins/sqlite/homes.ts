import { join } from 'node:path'
import type { RecordNamespace } from '#contracts/store/records'
import type { SqliteConfig } from './config.js'
import type { Databases, OpenDatabase } from './databases.js'
import type { RecordHome } from './records.js'

export interface Homes {
  readonly homes: Readonly<Record<RecordNamespace, RecordHome>>
  /** Gives back every database that was opened through `homes`. */
  release(): Promise<void>
}

/** The databases of a configuration, each opened when it is first asked for. One that is not configured is in memory. */
export function createHomes(config: SqliteConfig, databases: Databases): Homes {
  const taken: Promise<OpenDatabase>[] = []

  function home(path: string): RecordHome {
    let opening: Promise<OpenDatabase> | undefined
    return {
      isDurable: path !== '',
      async open() {
        opening ??= databases.open(path || undefined)
        const attempt = opening
        try {
          const opened = await attempt
          if (!taken.includes(attempt)) taken.push(attempt)
          return opened
        } catch (error) {
          // Tried again next time: the cause may be gone by then.
          if (opening === attempt) opening = undefined
          throw error
        }
      },
    }
  }

  return {
    homes: {
      run: home(config.run_db),
      conversation: home(config.conversation_db),
      relay: home(config.relay_db),
      state: home(config.state_dir && join(config.state_dir, 'state.db')),
    },
    async release() {
      for (const opened of taken.splice(0)) await databases.release(await opened)
    },
  }
}
