import { isDeepStrictEqual } from 'node:util'
import { isFailure } from '#contracts/errors'
import type { Message } from '#contracts/run/message'
import type { ConversationAddition, MessageStore } from '#contracts/store/message-store'

const MAX_CONVERSATIONS = 256
const MAX_BYTES = 64 * 1024 * 1024

interface Rewritten {
  /** How long the history was that the run began with. */
  readonly expectedCount: number
  readonly messages: readonly Message[]
}

interface Held {
  readonly messages: Message[]
  bytes: number
}

/**
 * Conversation histories in memory: loaded once, appended to as runs complete, dropped when they have not been used for
 * the longest time. Message objects keep their identity for as long as a history is held.
 */
export class History {
  /** In order of last use. */
  readonly #held = new Map<string, Held>()
  readonly #loading = new Map<string, Promise<Held>>()
  #bytes = 0

  constructor(private readonly store: () => MessageStore) {}

  /** The history of a conversation, as an array of the caller's own. */
  async load(tenantId: string, conversationId: string): Promise<Message[]> {
    return (await this.#hold(keyOf(tenantId, conversationId), tenantId, conversationId)).messages.slice()
  }

  /** Adds what a completed run said; resolves when it is durable. A run that rewrote its transcript replaces the whole. */
  async save(
    tenantId: string,
    conversationId: string,
    addition: ConversationAddition,
    rewritten?: Rewritten,
  ): Promise<void> {
    if (rewritten) return this.#rewrite(tenantId, conversationId, addition, rewritten)
    await this.store().append(tenantId, conversationId, addition)
    const key = keyOf(tenantId, conversationId)
    const held = this.#held.get(key)
    if (held) this.#add(held, addition.messages)
    else this.#loading.delete(key)
  }

  async #rewrite(
    tenantId: string,
    conversationId: string,
    addition: ConversationAddition,
    rewritten: Rewritten,
  ): Promise<void> {
    const store = this.store()
    try {
      const isFirst = rewritten.expectedCount === 0 && !(await store.load(tenantId, conversationId))
      const isReplaced = !isFirst && (await replaced(store, tenantId, conversationId, rewritten))
      const messages = isFirst ? rewritten.messages : isReplaced ? [] : addition.messages
      await store.append(tenantId, conversationId, { ...addition, messages })
    } finally {
      // Last of all: what was loaded meanwhile may be the history as it was before.
      this.forget(tenantId, conversationId)
    }
  }

  /** Drops what is held, after somebody changed the stored history. */
  forget(tenantId: string, conversationId: string): void {
    const key = keyOf(tenantId, conversationId)
    this.#bytes -= this.#held.get(key)?.bytes ?? 0
    this.#held.delete(key)
    this.#loading.delete(key)
  }

  async #hold(key: string, tenantId: string, conversationId: string): Promise<Held> {
    const held = this.#held.get(key)
    if (held) {
      this.#held.delete(key)
      this.#held.set(key, held)
      return held
    }
    const running = this.#loading.get(key)
    if (running) return running
    const loading = this.#read(tenantId, conversationId)
    this.#loading.set(key, loading)
    try {
      const fresh = await loading
      // A save that came in meanwhile may or may not be in what was read: then the next reader asks again.
      if (this.#loading.get(key) === loading) this.#keep(key, fresh)
      return fresh
    } finally {
      if (this.#loading.get(key) === loading) this.#loading.delete(key)
    }
  }

  async #read(tenantId: string, conversationId: string): Promise<Held> {
    const stored = await this.store().load(tenantId, conversationId)
    const messages = [...(stored?.messages ?? [])]
    return { messages, bytes: sizeOf(messages) }
  }

  #keep(key: string, held: Held): void {
    this.#held.set(key, held)
    this.#bytes += held.bytes
    this.#evict()
  }

  #add(held: Held, messages: readonly Message[]): void {
    for (const message of messages) held.messages.push(message)
    const bytes = sizeOf(messages)
    held.bytes += bytes
    this.#bytes += bytes
    this.#evict()
  }

  #evict(): void {
    for (const [key, held] of this.#held) {
      if (this.#held.size <= MAX_CONVERSATIONS && this.#bytes <= MAX_BYTES) return
      this.#held.delete(key)
      this.#bytes -= held.bytes
    }
  }
}

/** False when somebody else's run went into the history meanwhile: then it stays, and only an outline of this one follows. */
async function replaced(
  store: MessageStore,
  tenantId: string,
  conversationId: string,
  { expectedCount, messages }: Rewritten,
): Promise<boolean> {
  try {
    await store.replace(tenantId, conversationId, expectedCount, messages)
    return true
  } catch (error) {
    if (!isFailure(error, 'conflict')) throw error
    // An attempt to save that was cut short may have come as far as this.
    const stored = await store.load(tenantId, conversationId)
    return isDeepStrictEqual(stored?.messages, messages)
  }
}

const keyOf = (tenantId: string, conversationId: string): string => `${tenantId}\0${conversationId}`

const OVERHEAD_BYTES = 100

/** About what messages take in memory. */
function sizeOf(messages: readonly Message[]): number {
  let bytes = messages.length * OVERHEAD_BYTES
  for (const { content, reasoning = '', tool_calls: calls = [], blocks = [] } of messages) {
    bytes += content.length + reasoning.length
    for (const call of calls) bytes += call.arguments.length
    for (const block of blocks) bytes += block.data.length
  }
  return bytes
}
