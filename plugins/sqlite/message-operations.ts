import type { Prepared } from './prepared.js'
import { type Arguments, type Operations, Refusal, type Value } from './protocol.js'

/** Message histories on the database thread. */
export function messageOperations(prepared: Prepared): Operations {
  const numberOf = (tenantId: string, id: string): number | undefined =>
    (
      prepared('SELECT n FROM conversations WHERE tenant_id = ? AND id = ?').get(tenantId, id) as [number] | undefined
    )?.[0]

  function insertMessages(args: Arguments, conversationN: number, start: number, count = args.number()): number {
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

  /**
   * `[tenant, conversation, run, time, title?, workspace?, prompt tokens, completion tokens, cost, count, messages]`.
   * A run that is known: its messages, as long as they are the last, are taken anew; the totals counted it already.
   */
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
    const [end] = prepared('SELECT message_count FROM conversations WHERE n = ?').get(n) as [number]
    const known = prepared('SELECT start, stop FROM conversation_runs WHERE conversation_n = ? AND run_id = ?').get(
      n,
      runId,
    ) as [number | null, number | null] | undefined
    const [start, stop] = known ?? [end, end]
    if (start === null || stop !== end) return []
    const totals = [args.value(), args.value(), args.number(), args.number(), args.number()]
    const count = args.number()
    if (known && count === 0) return []
    if (known) prepared('DELETE FROM messages WHERE conversation_n = ? AND position >= ?').run(n, start)
    const next = start + insertMessages(args, n, start, count)
    prepared('INSERT OR REPLACE INTO conversation_runs (conversation_n, run_id, start, stop) VALUES (?, ?, ?, ?)').run(
      ...[n, runId, ...(count > 0 ? [start, next] : [null, null])],
    )
    if (known) prepared('UPDATE conversations SET message_count = ?, updated_at = ? WHERE n = ?').run(next, time, n)
    else
      prepared(
        `UPDATE conversations SET title = coalesce(title, ?), workspace = coalesce(?, workspace),
         prompt_tokens = prompt_tokens + ?, completion_tokens = completion_tokens + ?, cost_usd = cost_usd + ?,
         message_count = ?, updated_at = ? WHERE n = ?`,
      ).run(...totals, next, time, n)
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
    prepared('UPDATE conversation_runs SET start = NULL, stop = NULL WHERE conversation_n = ?').run(n)
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
