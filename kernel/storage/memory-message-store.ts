import { Failure } from '#contracts/errors'
import type { Message } from '#contracts/run/message'
import { titleOf } from '#contracts/store/conversation-title'
import type { ConversationRecord, MessageStore, StoredConversation } from '#contracts/store/message-store'
import { createSteadyClock } from './steady-clock.js'

interface Entry {
  record: ConversationRecord
  messages: readonly Message[]
  /** The messages of each run, start to before stop; unknown once the conversation was rewritten. */
  readonly runs: Map<string, { start: number; stop: number } | undefined>
}

export interface MemoryMessageStoreOptions {
  readonly now?: () => number
  /** How many conversations are kept; the one unused for longest goes first. Default 2,000. */
  readonly maxConversations?: number
}

const DEFAULT_CONVERSATIONS = 2_000

/** Message histories that end with the process; a bounded number of conversations. */
export function createMemoryMessageStore(options: MemoryMessageStoreOptions = {}): MessageStore {
  const now = createSteadyClock(options.now)
  const max = options.maxConversations ?? DEFAULT_CONVERSATIONS
  const conversations = new Map<string, Entry>()
  const time = () => new Date(now()).toISOString()
  const keyOf = (tenantId: string, id: string) => `${tenantId}\0${id}`

  /** Puts the entry last, so that the first of the map is the one unused for longest. */
  function keep(key: string, entry: Entry): void {
    conversations.delete(key)
    conversations.set(key, entry)
    for (const oldest of conversations.keys()) {
      if (conversations.size <= max) break
      conversations.delete(oldest)
    }
  }

  function started(tenantId: string, id: string): Entry {
    const at = time()
    const none = { message_count: 0, prompt_tokens: 0, completion_tokens: 0, cost_usd: 0 }
    const record = { id, tenant_id: tenantId, ...none, created_at: at, updated_at: at }
    return { record, messages: [], runs: new Map() }
  }

  return {
    isDurable: false,

    async load(tenantId, conversationId): Promise<StoredConversation | undefined> {
      const key = keyOf(tenantId, conversationId)
      const entry = conversations.get(key)
      if (!entry) return undefined
      keep(key, entry)
      return { record: entry.record, messages: entry.messages }
    },

    async append(tenantId, conversationId, addition) {
      const key = keyOf(tenantId, conversationId)
      const entry = conversations.get(key) ?? started(tenantId, conversationId)
      const isKnown = entry.runs.has(addition.runId)
      const end = entry.messages.length
      const place = isKnown ? entry.runs.get(addition.runId) : { start: end, stop: end }
      if (place?.stop !== end || (isKnown && addition.messages.length === 0)) return
      entry.messages = [...entry.messages.slice(0, place.start), ...addition.messages]
      const stop = entry.messages.length
      entry.runs.set(addition.runId, stop > place.start ? { start: place.start, stop } : undefined)
      if (isKnown) {
        entry.record = { ...entry.record, message_count: entry.messages.length, updated_at: time() }
        return keep(key, entry)
      }
      const { record } = entry
      const title = record.title ?? titleOf(addition.messages)
      const workspace = addition.workspace ?? record.workspace
      entry.record = {
        ...record,
        ...(title === undefined ? {} : { title }),
        ...(workspace === undefined ? {} : { workspace }),
        message_count: entry.messages.length,
        prompt_tokens: record.prompt_tokens + addition.promptTokens,
        completion_tokens: record.completion_tokens + addition.completionTokens,
        cost_usd: record.cost_usd + addition.costUsd,
        updated_at: time(),
      }
      keep(key, entry)
    },

    async replace(tenantId, conversationId, expectedCount, messages) {
      const key = keyOf(tenantId, conversationId)
      const entry = conversations.get(key)
      if (!entry || entry.messages.length !== expectedCount)
        throw new Failure('conflict', `conversation ${conversationId} has changed; load it again`)
      entry.messages = [...messages]
      for (const runId of entry.runs.keys()) entry.runs.set(runId, undefined)
      entry.record = { ...entry.record, message_count: messages.length, updated_at: time() }
      keep(key, entry)
    },

    async remove(tenantId, conversationId) {
      return conversations.delete(keyOf(tenantId, conversationId))
    },
  }
}
