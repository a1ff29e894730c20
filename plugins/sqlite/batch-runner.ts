import type { Database } from 'better-sqlite3'
import { keyOperations } from './key-operations.js'
import { messageOperations } from './message-operations.js'
import { preparedOn } from './prepared.js'
import { Arguments, type Batch, FAILED, type Handler, OK, type Operations, Refusal, type Value } from './protocol.js'
import { recordOperations } from './record-operations.js'
import { runOperations } from './run-operations.js'

/** Where one operation of a batch is, and where its reply goes. */
export interface Slot {
  readonly name: string
  /** Of its first argument in the batch. */
  readonly start: number
  reply: readonly Value[]
}

/** Errors of the disk or of other programs: nothing in the batch is at fault and all of its writes are refused. */
const TROUBLE = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PERM|PROTOCOL)/

/** How long another program may hold the write lock before writes are refused; in all, once we are closing. */
const LOCK_PATIENCE_MS = 5_000
const CLOSING_PATIENCE_MS = 2_000

/** Carries out the operations of a batch that concern one database, in order, as one transaction. Never throws. */
export interface BatchRunner {
  run(batch: Batch, slots: readonly Slot[]): void
}

/** `isClosing` turns true when the daemon is waiting for this thread to end. */
export function createBatchRunner(database: Database, isClosing: () => boolean): BatchRunner {
  const prepared = preparedOn(database)
  const parts: readonly Operations[] = [
    runOperations(prepared),
    messageOperations(prepared),
    recordOperations(prepared),
    keyOperations(prepared),
  ]
  const reads: Readonly<Record<string, Handler>> = Object.assign({}, ...parts.map(part => part.reads))
  const writes: Readonly<Record<string, Handler>> = Object.assign({}, ...parts.map(part => part.writes))
  let clock = 0

  function rollBack(): void {
    for (const part of parts) part.forget?.()
    // A full disk makes SQLite roll back by itself.
    if (database.inTransaction) database.exec('ROLLBACK')
  }

  let closingSince: number | undefined

  /** Waits for the write lock in short stretches, so that a daemon that wants to end is not kept. */
  function begin(): void {
    const since = Date.now()
    for (;;) {
      try {
        prepared('BEGIN IMMEDIATE').run()
        return
      } catch (error) {
        if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
        if (isClosing()) closingSince ??= Date.now()
        if (Date.now() - (closingSince ?? Date.now()) >= CLOSING_PATIENCE_MS) throw error
        if (Date.now() - since >= LOCK_PATIENCE_MS) throw error
      }
    }
  }

  function commit(): void {
    // Times must not go back after a restart either, whatever the wall clock does meanwhile.
    const now = Date.now()
    if (now > clock) prepared(`UPDATE meta SET value = max(value, ?) WHERE name = 'clock'`).run(now)
    clock = Math.max(clock, now)
    prepared('COMMIT').run()
  }

  function answer(batch: Batch, slot: Slot): void {
    const handler = reads[slot.name] ?? writes[slot.name]
    try {
      if (!handler) throw new Refusal('store_unavailable', `${slot.name} is new; restart the daemon to use it`)
      const values = handler(new Arguments(batch, slot.start))
      slot.reply = [OK, values.length, ...values]
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      slot.reply = [FAILED, error.code, error.message]
    }
  }

  /** One by one after an operation failed in a way of its own: what it did is taken back, the others stand. */
  function runApart(batch: Batch, slots: readonly Slot[]): void {
    begin()
    for (const slot of slots) {
      prepared('SAVEPOINT operation').run()
      try {
        answer(batch, slot)
      } catch (error) {
        if (isTrouble(error)) throw error
        for (const part of parts) part.forget?.()
        prepared('ROLLBACK TO operation').run()
        slot.reply = [FAILED, 'internal_error', `${slot.name} failed: ${(error as Error).message}`]
      }
      prepared('RELEASE operation').run()
    }
    commit()
  }

  /** The batch as a whole could not be stored. Reads may have seen what is now undone, so they are done again. */
  function refuseWrites(batch: Batch, slots: readonly Slot[], error: unknown): void {
    const { message } = error as Error
    for (const slot of slots) {
      slot.reply = [FAILED, 'store_unavailable', `the database cannot be written at the moment: ${message}`]
      if (writes[slot.name]) continue
      try {
        answer(batch, slot)
      } catch (cause) {
        slot.reply = [FAILED, 'store_unavailable', `the database cannot be read: ${(cause as Error).message}`]
      }
    }
  }

  return {
    run(batch, slots) {
      const isWriting = slots.some(slot => writes[slot.name])
      try {
        try {
          if (isWriting) begin()
          for (const slot of slots) answer(batch, slot)
          if (isWriting) commit()
        } catch (error) {
          if (!isWriting || isTrouble(error)) throw error
          rollBack()
          runApart(batch, slots)
        }
      } catch (error) {
        try {
          rollBack()
        } catch {
          // The connection says so again at the next batch; this one is refused either way.
        }
        refuseWrites(batch, slots, error)
      }
    },
  }
}

const isTrouble = (error: unknown): boolean => TROUBLE.test((error as { code?: string }).code ?? '')
