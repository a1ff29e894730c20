import type { Prepared } from './prepared.js'
import { type Arguments, type Operations, Refusal, type Value } from './protocol.js'

/** Message histories on the database thread. */
export function messageOperations(prepared: Prepared): Operations {
  const numberOf = (tenantId: string, id: string): number | undefined =>
    (
      prepared('SELECT n FROM conversations WHERE tenant_id = ? AND id = ?').get(tenantId, id) as [number] | undefined
    )?.[0]

  function insertMessages(args: Arguments, conversationN: number, start: number): number {
    const count = args.number()
    for (let index = 0; index < count; index += 1)
      prepared('INSERT INTO messages (conversation_n, position, message) VALUES (?, ?, ?)').run(
        conversationN,
        start + index,
        args.text(),
      )
    return count
  }

  /** `[tenant, conversation]` → the record's columns and all messages as one JSON array, or nothing. */
  function load(args: Arguments): readonly Value[] {
    const row = prepared(
      `SELECT n, title, workspace, pinned, message_count, prompt_tokens, completion_tokens, cost_usd, created_at,
       updated_at FROM conversations WHERE tenant_id = ? AND id = ?`,
    ).get(args.text(), args.text())
    if (row === undefined) return []
    const [n, ...columns] = row as [number, ...Value[]]
    const messages = prepared('SELECT message FROM messages WHERE conversation_n = ? ORDER BY position').all(n)
    return [...columns, `[${(messages as [string][]).join(',')}]`]
  }

  /** `[tenant, conversation, run, time, title?, workspace?, prompt tokens, completion tokens, cost, count, messages]`. */
  function append(args: Arguments): readonly Value[] {
    const [tenantId, id, runId, time] = [args.text(), args.text(), args.text(), args.text()]
    let n = numberOf(tenantId, id)
    if (n === undefined)
      n = Number(
        prepared(
          `INSERT INTO conversations (tenant_id, id, message_count, prompt_tokens, completion_tokens, cost_usd, created_at,
           updated_at) VALUES (?, ?, 0, 0, 0, 0, ?, ?)`,
        ).run(tenantId, id, time, time).lastInsertRowid,
      )
    if (prepared('INSERT OR IGNORE INTO conversation_runs VALUES (?, ?)').run(n, runId).changes === 0) return []
    const totals = [args.value(), args.value(), args.number(), args.number(), args.number()]
    const [start] = prepared('SELECT message_count FROM conversations WHERE n = ?').get(n) as [number]
    const added = insertMessages(args, n, start)
    prepared(
      `UPDATE conversations SET title = coalesce(title, ?), workspace = coalesce(?, workspace),
       prompt_tokens = prompt_tokens + ?, completion_tokens = completion_tokens + ?, cost_usd = cost_usd + ?,
       message_count = ?, updated_at = ? WHERE n = ?`,
    ).run(...totals, start + added, time, n)
    return []
  }

  /** `[tenant, conversation, expected count, time, count, messages]`. */
  function replace(args: Arguments): readonly Value[] {
    const [tenantId, id, expected, time] = [args.text(), args.text(), args.number(), args.text()]
    const row = prepared('SELECT n, message_count FROM conversations WHERE tenant_id = ? AND id = ?').get(tenantId, id)
    const [n, count] = (row as [number, number] | undefined) ?? [undefined, undefined]
    if (n === undefined || count !== expected)
      throw new Refusal('conflict', `conversation ${id} has changed; load it again`)
    prepared('DELETE FROM messages WHERE conversation_n = ?').run(n)
    const left = insertMessages(args, n, 0)
    prepared('UPDATE conversations SET message_count = ?, updated_at = ? WHERE n = ?').run(left, time, n)
    return []
  }

  /** `[tenant, conversation]` → 1 when there was one. Its messages go with it. */
  function remove(args: Arguments): readonly Value[] {
    return [prepared('DELETE FROM conversations WHERE tenant_id = ? AND id = ?').run(args.text(), args.text()).changes]
  }

  return {
    reads: { 'message.load': load },
    writes: { 'message.append': append, 'message.replace': replace, 'message.remove': remove },
  }
}
