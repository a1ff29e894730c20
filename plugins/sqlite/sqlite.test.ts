import { mkdtempSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import type { RecordNamespace } from '#contracts/store/records'
import { describePlugin } from '#test/kit/describe-plugin'
import { describeKeyStore, describeMessageStore, describeRecords, describeRunStore } from '#test/kit/storage-contract'
import { createDatabases, type Databases, type OpenDatabase } from './databases.js'
import { createHomes } from './homes.js'
import { plugin } from './index.js'
import { createSqliteKeyStore } from './key-store.js'
import { createSqliteMessageStore } from './message-store.js'
import { createSqliteRecords } from './records.js'
import { createSqliteRunStore } from './run-store.js'

describePlugin(plugin, { dir: import.meta.dirname })

describe('with its databases on disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'runwright-sqlite-kit-'))
  afterAll(() => rm(folder, { recursive: true }))
  describePlugin(plugin, { config: { run_db: join(folder, 'run.db'), conversation_db: join(folder, 'talk.db') } })
})

const makeFolder = () => mkdtemp(join(tmpdir(), 'runwright-sqlite-'))

interface Opened<Store> {
  readonly store: Store
  reopen(): Promise<Opened<Store>>
  close(): Promise<void>
}

/** Each reopening is a new thread on the same files: what a restart of the daemon sees. */
function opener<Store>(build: (databases: Databases, folder: string) => Promise<Store>) {
  async function openIn(folder: string): Promise<Opened<Store>> {
    const databases = createDatabases()
    return {
      store: await build(databases, folder),
      async reopen() {
        await databases.close()
        return openIn(folder)
      },
      async close() {
        await databases.close()
        await rm(folder, { recursive: true })
      },
    }
  }
  return async () => openIn(await makeFolder())
}

const onFile = <Store>(create: (database: OpenDatabase) => Store) =>
  opener(async (databases, folder) => create(await databases.open(join(folder, 'run.db'))))

const recordsIn = (namespaces: readonly RecordNamespace[]) =>
  opener(async (databases, folder) => {
    const file = (namespace: RecordNamespace) => (namespaces.includes(namespace) ? join(folder, `${namespace}.db`) : '')
    const config = {
      run_db: file('run'),
      conversation_db: file('conversation'),
      relay_db: file('relay'),
      state_dir: namespaces.includes('state') ? folder : '',
    }
    return createSqliteRecords(createHomes(config, databases).homes)
  })

describeRunStore('sqlite', onFile(createSqliteRunStore))
describeMessageStore(
  'sqlite',
  onFile(database => createSqliteMessageStore(database, true)),
)
describeKeyStore('sqlite', onFile(createSqliteKeyStore))
describeRecords('sqlite with every database', recordsIn(['run', 'conversation', 'relay', 'state']))
describeRecords('sqlite with a run database only', recordsIn(['run']))
