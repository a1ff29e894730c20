import { parentPort, workerData } from 'node:worker_threads'
import { type BatchRunner, createBatchRunner, type Slot } from './batch-runner.js'
import { type DatabaseFile, openDatabaseFile } from './database-file.js'
import { Arguments, type Batch, CONTROL, FAILED, OK, Refusal, type Value } from './protocol.js'

/** The database thread: one message is one batch, one reply answers it. Nothing here runs on the main thread. */
interface OpenDatabase extends BatchRunner {
  readonly file: DatabaseFile
}

const databases = new Map<number, OpenDatabase>()

const isClosing = (): boolean => Atomics.load(workerData as Int32Array, 0) === 1

parentPort?.on('message', (batch: Batch) => parentPort?.postMessage(replyTo(batch)))

function replyTo(batch: Batch): Batch {
  const slots: Slot[] = []
  const groups = new Map<number, Slot[]>()
  for (let at = 0; at < batch.length; ) {
    const [number, name, count] = [batch[at] as number, batch[at + 1] as string, batch[at + 2] as number]
    const slot: Slot = { name, start: at + 3, reply: [] }
    slots.push(slot)
    const group = groups.get(number)
    if (group) group.push(slot)
    else groups.set(number, [slot])
    at += 3 + count
  }
  for (const [number, group] of groups) {
    if (number === CONTROL) for (const slot of group) slot.reply = control(slot.name, new Arguments(batch, slot.start))
    else runOn(number, batch, group)
  }
  if (slots.length === 1) return (slots[0] as Slot).reply
  const reply: Value[] = []
  for (const slot of slots) for (const value of slot.reply) reply.push(value)
  return reply
}

function runOn(number: number, batch: Batch, slots: readonly Slot[]): void {
  const database = databases.get(number)
  if (database) database.run(batch, slots)
  else for (const slot of slots) slot.reply = [FAILED, 'store_unavailable', 'the database is closed']
}

/** `open [number, path, is exclusive]` → the highest time the file has seen; `close [number]`; `end`. */
function control(name: string, args: Arguments): readonly Value[] {
  try {
    if (name === 'end') {
      for (const { file } of databases.values()) file.close()
      databases.clear()
      // After the reply has left; without a port to listen to, the thread ends by itself.
      setImmediate(() => parentPort?.close())
      return [OK, 0]
    }
    if (name === 'close') {
      const number = args.number()
      databases.get(number)?.file.close()
      databases.delete(number)
      return [OK, 0]
    }
    const [number, path, isExclusive] = [args.number(), args.text(), args.number() === 1]
    const file = openDatabaseFile(path, isExclusive)
    databases.set(number, { file, ...createBatchRunner(file.database, isClosing) })
    const clock = file.database.prepare(`SELECT value FROM meta WHERE name = 'clock'`).pluck().get()
    return [OK, 1, Number(clock)]
  } catch (error) {
    const code = error instanceof Refusal ? error.code : 'store_unavailable'
    return [FAILED, code, (error as Error).message]
  }
}
