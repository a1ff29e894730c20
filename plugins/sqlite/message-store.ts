import type { Message } from '#contracts/run/message'
import { titleOf } from '#contracts/store/conversation-title'
import type { MessageStore } from '#contracts/store/message-store'
import type { OpenDatabase } from './databases.js'

/**
 * Message histories in a database file, a row per message. `isDurable` says whether a conversation database is
 * configured, which is what the conversation routes go by; without one, histories are kept in the run database.
 */
export function createSqliteMessageStore({ now, send }: OpenDatabase, isDurable: boolean): MessageStore {
  const time = () => new Date(now()).toISOString()
  const lines = (messages: readonly Message[]) => [messages.length, ...messages.map(message => JSON.stringify(message))]

  return {
    isDurable,

    async load(tenantId, conversationId) {
      const reply = await send('message.load', [tenantId, conversationId])
      if (reply.length === 0) return undefined
      const [title, workspace, pinned, messageCount, promptTokens, completionTokens, cost, createdAt, updatedAt, text] =
        reply
      const record = {
        id: conversationId,
        tenant_id: tenantId,
        ...(title === null ? {} : { title: String(title) }),
        ...(workspace === null ? {} : { workspace: String(workspace) }),
        ...(pinned ? { pinned: true } : {}),
        message_count: Number(messageCount),
        prompt_tokens: Number(promptTokens),
        completion_tokens: Number(completionTokens),
        cost_usd: Number(cost),
        created_at: String(createdAt),
        updated_at: String(updatedAt),
      }
      return { record, messages: JSON.parse(String(text)) as Message[] }
    },

    async append(tenantId, conversationId, { runId, messages, promptTokens, completionTokens, costUsd, workspace }) {
      await send('message.append', [
        tenantId,
        conversationId,
        runId,
        time(),
        titleOf(messages) ?? null,
        workspace ?? null,
        promptTokens,
        completionTokens,
        costUsd,
        ...lines(messages),
      ])
    },

    async replace(tenantId, conversationId, expectedCount, messages) {
      await send('message.replace', [tenantId, conversationId, expectedCount, time(), ...lines(messages)])
    },

    async remove(tenantId, conversationId) {
      const [removed] = await send('message.remove', [tenantId, conversationId])
      return removed === 1
    },
  }
}
