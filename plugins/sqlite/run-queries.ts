import type { Prepared } from './prepared.js'
import type { Arguments, Value } from './protocol.js'

/** `[tenant, run]` → `[record, draft]`, or nothing. */
export function readRun(prepared: Prepared, args: Arguments): readonly Value[] {
  const [tenantId, runId] = [args.text(), args.text()]
  const row = prepared(
    'SELECT record, draft FROM runs JOIN run_drafts ON run_n = n WHERE id = ? AND tenant_id = ?',
  ).get(runId, tenantId)
  return (row as Value[] | undefined) ?? []
}

/** `[tenant, conversation?, status?, limit, after?]` → `[record, draft]` of each run, newest first. */
export function listRuns(prepared: Prepared, args: Arguments): readonly Value[] {
  const tenantId = args.text()
  const [conversationId, status] = [args.value(), args.value()]
  const limit = args.number()
  const after = args.value()
  const bindings: Value[] = [tenantId]
  let where = 'tenant_id = ?'
  if (conversationId !== null) {
    where += ' AND conversation_id = ?'
    bindings.push(conversationId)
  }
  if (status !== null) {
    where += ' AND status = ?'
    bindings.push(status)
  }
  if (after !== null) {
    where += ' AND n < (SELECT n FROM runs WHERE id = ? AND tenant_id = ?)'
    bindings.push(after, tenantId)
  }
  const rows = prepared(
    `SELECT record, draft FROM runs JOIN run_drafts ON run_n = n WHERE ${where} ORDER BY n DESC LIMIT ?`,
  ).all(...bindings, limit)
  return (rows as Value[][]).flat()
}
