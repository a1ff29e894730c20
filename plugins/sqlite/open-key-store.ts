import type { KeyStore } from '#contracts/store/key-store'
import { createDatabases } from './databases.js'
import { createSqliteKeyStore } from './key-store.js'

/**
 * The key store of a run database for another process than the daemon: creates the file when the daemon never ran, and
 * takes no lock. Rejects with a sentence that says what to do; close it when done.
 */
export async function openKeyStore(path: string): Promise<KeyStore & { close(): Promise<void> }> {
  const databases = createDatabases({ isExclusive: false })
  try {
    const store = createSqliteKeyStore(await databases.open(path))
    return { ...store, close: () => databases.close() }
  } catch (error) {
    await databases.close()
    throw error
  }
}
