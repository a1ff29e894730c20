import { definePlugin } from '#contracts/plugin'
import { KEY_STORE, MESSAGE_STORE, RECORDS, RUN_STORE } from '#contracts/ports'
import { SqliteConfig } from './config.js'
import { createDatabases } from './databases.js'
import { createHomes } from './homes.js'
import { createSqliteKeyStore } from './key-store.js'
import { createSqliteMessageStore } from './message-store.js'
import { openKeyStore } from './open-key-store.js'
import { createSqliteRecords } from './records.js'
import { createSqliteRunStore } from './run-store.js'

export const plugin = definePlugin({
  name: 'sqlite',
  config: SqliteConfig,
  openKeys: openKeyStore,
  provides: [RUN_STORE, MESSAGE_STORE, KEY_STORE, RECORDS],
  async register(scope) {
    const { run_db, conversation_db, relay_db } = scope.config
    const databases = scope.carry(
      'databases',
      () => createDatabases(),
      open => open.close(),
    )
    const { homes, release } = createHomes(scope.config, databases)
    scope.defer(release)
    // Configured files are opened now, so that a start with a damaged or taken one is refused and not found out later.
    if (relay_db) await homes.relay.open()
    if (run_db) {
      const opened = await homes.run.open()
      scope.provide(RUN_STORE, createSqliteRunStore(opened))
      scope.provide(KEY_STORE, createSqliteKeyStore(opened))
    }
    if (conversation_db || run_db) {
      const opened = await (conversation_db ? homes.conversation : homes.run).open()
      scope.provide(MESSAGE_STORE, createSqliteMessageStore(opened, conversation_db !== ''))
    }
    scope.provide(RECORDS, createSqliteRecords(homes))
  },
})
