import { accessSync, closeSync, constants, existsSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import SqliteDatabase, { type Database } from 'better-sqlite3'
import { migrate, schemaVersionOf } from './migrations.js'
import { Refusal } from './protocol.js'

export const IN_MEMORY = ':memory:'
/** One stretch of waiting for a lock; a batch waits several. Opening waits longer, as another process may migrate. */
const BUSY_TIMEOUT_MS = 200
const OPEN_TIMEOUT_MS = 5_000
/** Up to this size a file is read through when it is opened (about 100 ms); above, damage shows when a page is read. */
const MAX_CHECKED_BYTES = 64 * 1024 * 1024
/** The log is checkpointed at 8 MB (2,000 pages) and cut back to this size after a burst. */
const WAL_BYTES = 32 * 1024 * 1024

export interface DatabaseFile {
  readonly database: Database
  close(): void
}

/**
 * Opens or creates a database file, checked and migrated. With `isExclusive`, holds a lock that ends with the process
 * and refuses while another process holds it. Whatever is wrong is refused with a sentence that says what to do;
 * nothing is ever started empty beside a damaged file.
 */
export function openDatabaseFile(path: string, isExclusive: boolean): DatabaseFile {
  if (path === IN_MEMORY) return openChecked(path, () => undefined)
  prepareFile(path)
  const unlock = isExclusive ? lock(path) : () => undefined
  try {
    return openChecked(path, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

function openChecked(path: string, unlock: () => void): DatabaseFile {
  let database: Database | undefined
  try {
    database = new SqliteDatabase(path, { timeout: OPEN_TIMEOUT_MS })
    // First of all, as what follows already writes to the file.
    schemaVersionOf(database, path)
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.pragma('foreign_keys = ON')
    database.pragma('wal_autocheckpoint = 2000')
    database.pragma(`journal_size_limit = ${WAL_BYTES}`)
    database.pragma('cache_size = -16000')
    migrate(database, path)
    if (path !== IN_MEMORY && statSync(path).size <= MAX_CHECKED_BYTES) assertIntact(database, path)
    database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  } catch (error) {
    database?.close()
    throw explained(error, path)
  }
  const opened = database
  return {
    database: opened,
    close() {
      try {
        // A reader in another process may be in the way; the log is then taken over at the next start.
        opened.pragma('wal_checkpoint(TRUNCATE)')
      } catch {
        // Nothing is lost by it: what was acknowledged is in the log, and the next start goes on from there.
      } finally {
        opened.close()
        unlock()
      }
    },
  }
}

function prepareFile(path: string): void {
  const refuse = (why: string) => new Refusal('store_unavailable', why)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // Exclusive: creates with these rights or finds what is there, also a dangling link.
    if (!lstatSync(path, { throwIfNoEntry: false })) createFile(path)
    const file = lstatSync(path)
    if (file.isSymbolicLink()) throw refuse(`${path} is a symbolic link; name the database file itself`)
    if (file.isDirectory()) throw refuse(`${path} is a folder; name a file in it`)
    if (!file.isFile()) throw refuse(`${path} is not a regular file; name another file`)
    if (file.size === 0 && existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0)
      throw refuse(`${path} is empty but its log ${path}-wal is not; restore the database, or move the log away`)
    accessSync(path, constants.R_OK | constants.W_OK)
    accessSync(dirname(path), constants.W_OK | constants.X_OK)
  } catch (error) {
    throw explained(error, path)
  }
}

function createFile(path: string): void {
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0)
    throw new Refusal(
      'store_unavailable',
      `${path} is missing but its log ${path}-wal is there; restore the database, or move the log away`,
    )
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * A sibling database held in an exclusive transaction: an operating-system lock that dies with the process, while the
 * main file stays open to the command line. The file stays behind on purpose; removing it would let two in.
 */
function lock(path: string): () => void {
  const lockPath = `${path}.lock`
  prepareFile(lockPath)
  const database = new SqliteDatabase(lockPath, { timeout: 0 })
  try {
    database.pragma('journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    const { code } = error as { code?: string }
    if (code !== 'SQLITE_BUSY') throw explained(error, lockPath)
    throw new Refusal(
      'store_unavailable',
      `${path} is in use by another runwright daemon; stop that one, or give this one a file of its own`,
    )
  }
  return () => database.close()
}

function assertIntact(database: Database, path: string): void {
  const found = database.pragma('quick_check(1)', { simple: true })
  if (found !== 'ok')
    throw new Refusal('store_unavailable', `${path} is damaged (${String(found)}); restore it from a backup`)
}

/** The same trouble in words that say what to do. */
function explained(error: unknown, path: string): Refusal {
  if (error instanceof Refusal) return error
  const { code = '', message } = error as { code?: string; message: string }
  const why = (text: string) => new Refusal('store_unavailable', text)
  if (code === 'SQLITE_NOTADB') return why(`${path} is not a database; move it away, or name another file`)
  if (code.startsWith('SQLITE_CORRUPT')) return why(`${path} is damaged (${message}); restore it from a backup`)
  if (code === 'SQLITE_BUSY') return why(`${path} is locked by another program; close that program and start again`)
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code.startsWith('SQLITE_READONLY'))
    return why(`${path} and its folder must be writable for this user (${message})`)
  if (code === 'ENOTDIR' || code === 'EEXIST') return why(`the folder of ${path} is not a folder; name another file`)
  return why(`${path} cannot be opened: ${message}`)
}
