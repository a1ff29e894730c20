import { isFailure } from '#contracts/errors'
import type { Message } from '#contracts/run/message'
import type { ConversationAddition, MessageStore } from '#contracts/store/message-store'

const MAX_CONVERSATIONS = 256
const MAX_BYTES = 64 * 1024 * 1024

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
    rewritten?: { readonly expectedCount: number; readonly messages: readonly Message[] },
  ): Promise<void> {
    const key = keyOf(tenantId, conversationId)
    if (rewritten) {
      this.forget(tenantId, conversationId)
      if (rewritten.expectedCount === 0 && !(await this.store().load(tenantId, conversationId))) {
        await this.store().append(tenantId, conversationId, { ...addition, messages: rewritten.messages })
        return
      }
      const isReplaced = await this.#replace(tenantId, conversationId, rewritten)
      await this.store().append(tenantId, conversationId, isReplaced ? { ...addition, messages: [] } : addition)
      return
    }
    await this.store().append(tenantId, conversationId, addition)
    const held = this.#held.get(key)
    if (held) this.#add(held, addition.messages)
    else this.#loading.delete(key)
  }

  async #replace(
    tenantId: string,
    conversationId: string,
    { expectedCount, messages }: { readonly expectedCount: number; readonly messages: readonly Message[] },
  ): Promise<boolean> {
    try {
      await this.store().replace(tenantId, conversationId, expectedCount, messages)
      return true
    } catch (error) {
      // Somebody else's run went into the history meanwhile: then it stays, and only the outline of this one follows.
      if (isFailure(error, 'conflict')) return false
      throw error
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
    const held: Held = { messages: [], bytes: 0 }
    for (const message of stored?.messages ?? []) {
      held.messages.push(message)
      held.bytes += sizeOf(message)
    }
    return held
  }

  #keep(key: string, held: Held): void {
    this.#held.set(key, held)
    this.#bytes += held.bytes
    this.#evict()
  }

  #add(held: Held, messages: readonly Message[]): void {
    for (const message of messages) {
      held.messages.push(message)
      held.bytes += sizeOf(message)
      this.#bytes += sizeOf(message)
    }
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

const keyOf = (tenantId: string, conversationId: string): string => `${tenantId}\0${conversationId}`

const OVERHEAD_BYTES = 100
const sizeOf = (message: Message): number =>
  OVERHEAD_BYTES +
  message.content.length +
  (message.reasoning?.length ?? 0) +
  (message.tool_calls ?? []).reduce((sum, call) => sum + call.arguments.length, 0) +
  (message.blocks ?? []).reduce((sum, block) => sum + block.data.length, 0)
