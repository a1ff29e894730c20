import type { StoredEvent } from '#contracts/event/envelope'
import { RunLog } from './run-log.js'

/** All tails together; beyond it each run keeps only `SMALL_TAIL_BYTES`. */
const TOTAL_TAIL_BYTES = 64 * 1024 * 1024
const TAIL_BYTES = 1024 * 1024
const SMALL_TAIL_BYTES = 32 * 1024
/** Waking readers for longer than this at once would hold up everybody else. */
const WAKE_SLICE_MS = 2

/** Where committed events become visible: tails of the runs in memory, and the wake-ups of their readers. */
export class EventHub {
  readonly #logs = new Map<string, RunLog>()
  readonly #conversations = new Map<string, Set<() => void>>()
  #totalBytes = 0

  /** Opens the log of a run that is about to be in flight. */
  open(runId: string, tenantId: string, lastSeq: number): RunLog {
    const log = new RunLog(runId, tenantId, lastSeq)
    this.#logs.set(runId, log)
    return log
  }

  /** The log of a run in memory, for its own tenant only. */
  find(tenantId: string, runId: string): RunLog | undefined {
    const log = this.#logs.get(runId)
    return log?.tenantId === tenantId ? log : undefined
  }

  /** Forgets a settled run's tail; its readers go on from the store. */
  forget(runId: string): void {
    const log = this.#logs.get(runId)
    if (!log) return
    this.#totalBytes -= log.bytes
    this.#logs.delete(runId)
    // Readers look again and find the end of what is stored.
    wakeAll(log.wakes)
  }

  /** Shows committed events to whoever reads them. */
  publish(log: RunLog, conversationId: string, events: readonly StoredEvent[]): void {
    const before = log.bytes
    log.append(events, this.#totalBytes > TOTAL_TAIL_BYTES ? SMALL_TAIL_BYTES : TAIL_BYTES)
    if (this.#logs.get(log.runId) === log) this.#totalBytes += log.bytes - before
    if (log.wakes.size > 0) wakeAll(log.wakes)
    this.wakeConversation(log.tenantId, conversationId)
  }

  /** Has the readers of a conversation look for more. */
  wakeConversation(tenantId: string, conversationId: string): void {
    const wakes = this.#conversations.get(conversationKey(tenantId, conversationId))
    if (wakes) wakeAll(wakes)
  }

  /** Calls `wake` after every append to the conversation, until undone. */
  onConversation(tenantId: string, conversationId: string, wake: () => void): () => void {
    const key = conversationKey(tenantId, conversationId)
    const wakes = this.#conversations.get(key) ?? new Set()
    this.#conversations.set(key, wakes.add(wake))
    return () => {
      wakes.delete(wake)
      if (wakes.size === 0) this.#conversations.delete(key)
    }
  }
}

const conversationKey = (tenantId: string, conversationId: string): string => JSON.stringify([tenantId, conversationId])

/** Wakes in slices, yielding in between, so that a crowd of readers never holds the loop. */
function wakeAll(wakes: ReadonlySet<() => void>): void {
  if (wakes.size < 100) {
    for (const wake of wakes) wake()
    return
  }
  const rest = [...wakes]
  const slice = (): void => {
    const until = performance.now() + WAKE_SLICE_MS
    while (rest.length > 0 && performance.now() < until) rest.pop()?.()
    if (rest.length > 0) setImmediate(slice)
  }
  slice()
}
