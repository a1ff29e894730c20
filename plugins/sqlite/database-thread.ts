import { Worker } from 'node:worker_threads'
import { Failure, type FailureCode } from '#contracts/errors'
import { type Batch, CONTROL, OK, type Value } from './protocol.js'

/** At most this much is sent at once, so that the thread answers within a few milliseconds. */
const MAX_BATCH_OPERATIONS = 256
const MAX_BATCH_CHARACTERS = 512 * 1024
/** While the disk stalls, at most this much waits; what comes on top is refused at once. */
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024
const CLOSE_TIMEOUT_MS = 4_500
const CLOSED = 'the database is closed'

interface Pending {
  readonly database: number
  readonly name: string
  readonly args: readonly Value[]
  readonly size: number
  readonly resolve: (values: readonly Value[]) => void
  readonly reject: (error: Failure) => void
}

/**
 * The one thread on which SQLite runs. Operations of one tick travel together and commit together; one batch is under
 * way at a time, and what arrives meanwhile is the next. Starts its worker with the first operation.
 */
export class DatabaseThread {
  #worker: Worker | undefined
  /** Tells the worker, also in the middle of a batch, to be less patient with locks. */
  readonly #isClosing = new Int32Array(new SharedArrayBuffer(4))
  #ended: string | undefined
  #waiting: Pending[] = []
  #waitingCharacters = 0
  #underWay: readonly Pending[] = []
  #isScheduled = false

  /** Resolves with the operation's values once its transaction is durable; rejects with a `Failure`. */
  send(database: number, name: string, args: readonly Value[]): Promise<readonly Value[]> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(unavailable(this.#ended))
      const size = sizeOf(args)
      if (this.#waitingCharacters + size > MAX_WAITING_CHARACTERS && this.#waiting.length > 0)
        return reject(unavailable('the database does not keep up; too much is waiting to be written'))
      this.#waiting.push({ database, name, args, size, resolve, reject })
      this.#waitingCharacters += size
      if (this.#isScheduled || this.#underWay.length > 0) return
      this.#isScheduled = true
      setImmediate(() => this.#flush())
    })
  }

  /** Lets everything sent so far finish, then ends the thread. Within five seconds, whatever the disk does. */
  async close(): Promise<void> {
    const worker = this.#worker
    if (worker && this.#ended === undefined) {
      // Never `terminate()`: to interrupt SQLite in the middle of a call aborts the whole process.
      const exit = new Promise(resolve => worker.once('exit', resolve))
      this.send(CONTROL, 'end', []).catch(() => undefined)
      this.#ended = CLOSED
      Atomics.store(this.#isClosing, 0, 1)
      await withinTime(exit, CLOSE_TIMEOUT_MS)
    }
    this.#ended ??= CLOSED
  }

  #flush(): void {
    this.#isScheduled = false
    let characters = 0
    let count = 0
    while (count < this.#waiting.length && count < MAX_BATCH_OPERATIONS && characters < MAX_BATCH_CHARACTERS) {
      characters += (this.#waiting[count] as Pending).size
      count += 1
    }
    const batch = this.#waiting.splice(0, count)
    if (batch.length === 0) return
    this.#waitingCharacters -= characters
    this.#underWay = batch
    const message: Value[] = []
    for (const { database, name, args } of batch) {
      message.push(database, name, args.length)
      for (const value of args) message.push(value)
    }
    const worker = this.#worker ?? this.#start()
    // The process stays alive for what is under way, and for nothing else.
    worker.ref()
    worker.postMessage(message)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      name: 'sqlite',
      execArgv: [],
      workerData: this.#isClosing,
    })
    this.#worker = worker
    worker.on('message', (reply: Batch) => this.#settle(reply))
    worker.on('error', error => this.#end(`the database thread has failed: ${error.message}; restart the daemon`))
    worker.on('exit', () => this.#end('the database thread has ended; restart the daemon'))
    return worker
  }

  #settle(reply: Batch): void {
    const batch = this.#underWay
    this.#underWay = []
    let at = 0
    for (const { resolve, reject } of batch) {
      if (reply[at] === OK) {
        const count = reply[at + 1] as number
        resolve(count === 0 ? [] : reply.slice(at + 2, at + 2 + count))
        at += 2 + count
      } else {
        reject(new Failure(reply[at + 1] as FailureCode, reply[at + 2] as string))
        at += 3
      }
    }
    // Sent right away: whoever these answers wake takes part in the batch after.
    if (this.#waiting.length > 0) this.#flush()
    else this.#worker?.unref()
  }

  #end(reason: string): void {
    this.#ended ??= reason
    const lost = [...this.#underWay, ...this.#waiting]
    this.#underWay = []
    this.#waiting = []
    for (const { reject } of lost) reject(unavailable(this.#ended))
  }
}

const unavailable = (message: string) => new Failure('store_unavailable', message)

function sizeOf(args: readonly Value[]): number {
  let size = 64
  for (const value of args) size += typeof value === 'string' ? value.length : 8
  return size
}

async function withinTime(work: Promise<unknown>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise(resolve => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
