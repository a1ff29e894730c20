import type { Message } from '../run/message.js'

/** The conversation record of the interface, as stored. */
export interface ConversationRecord {
  readonly id: string
  readonly tenant_id: string
  readonly title?: string
  readonly workspace?: string
  readonly pinned?: boolean
  readonly message_count: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost_usd: number
  readonly created_at: string
  readonly updated_at: string
}

/** What a completed run adds to its conversation. */
export interface ConversationAddition {
  /**
   * Adding the same run twice adds it once: a process may die between this and the run's own end. What came last holds,
   * as the run's output will, until something follows in the conversation. An addition of no messages changes none.
   */
  readonly runId: string
  readonly messages: readonly Message[]
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costUsd: number
  readonly workspace?: string
}

export interface StoredConversation {
  readonly record: ConversationRecord
  readonly messages: readonly Message[]
}

/**
 * Message histories. The conversation id lives inside the tenant. History is appended, never rewritten per step;
 * `replace` is for compaction, undo and rewind. Methods resolve when the work is durable.
 */
export interface MessageStore {
  readonly isDurable: boolean
  load(tenantId: string, conversationId: string): Promise<StoredConversation | undefined>
  append(tenantId: string, conversationId: string, addition: ConversationAddition): Promise<void>
  /** Fails with `conflict` when the conversation no longer has `expectedCount` messages. */
  replace(tenantId: string, conversationId: string, expectedCount: number, messages: readonly Message[]): Promise<void>
  /** True when there was one. */
  remove(tenantId: string, conversationId: string): Promise<boolean>
}
