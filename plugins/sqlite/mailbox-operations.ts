import type { Prepared } from './prepared.js'
import type { Arguments, Operations, Value } from './protocol.js'

const SETTLED = new Set(['completed', 'failed', 'cancelled'])

/** Letters to runs, on the database thread. Checked and stored in one go, so that of many the first one wins. */
export function mailboxOperations(prepared: Prepared): Operations & { consume(runN: number, id: string): void } {
  /** `[tenant, run, kind, key?, body?, limit?, statuses?]` → the outcome. */
  function post(args: Arguments): readonly Value[] {
    const [tenantId, runId, kind] = [args.text(), args.text(), args.text()]
    const [key, body, limit, statuses] = [args.value(), args.value(), args.optionalNumber(), args.optionalText()]
    const row = prepared('SELECT n, status FROM runs WHERE id = ? AND tenant_id = ?').get(runId, tenantId)
    if (row === undefined) return ['unknown']
    const [runN, status] = row as [number, string]
    const isTaken =
      key !== null && prepared('SELECT 1 FROM letters WHERE run_n = ? AND key = ?').get(runN, key) !== undefined
    if (isTaken) return ['taken']
    const isWelcome = statuses === undefined ? !SETTLED.has(status) : statuses.split(',').includes(status)
    if (!isWelcome) return ['refused', status]
    if (limit !== undefined && waiting(runN, kind) >= limit) return ['full']
    prepared('INSERT INTO letters (run_n, kind, key, body) VALUES (?, ?, ?, ?)').run(runN, kind, key, body)
    return ['posted']
  }

  function waiting(runN: number, kind: string): number {
    const row = prepared('SELECT count(*) FROM letters WHERE run_n = ? AND consumed = 0 AND kind = ?').get(runN, kind)
    return (row as [number])[0]
  }

  /** `[run]` → `[id, kind, key?, body?]` of each letter, oldest first. */
  function letters(args: Arguments): readonly Value[] {
    const rows = prepared(
      `SELECT CAST(l.n AS TEXT), l.kind, l.key, l.body FROM letters l JOIN runs r ON r.n = l.run_n
       WHERE r.id = ? AND l.consumed = 0 ORDER BY l.n`,
    ).all(args.text())
    return (rows as Value[][]).flat()
  }

  return {
    reads: { 'run.letters': letters },
    writes: { 'run.post': post },
    /** A letter with a key leaves its key behind: it was accepted once and for ever. */
    consume(runN, id) {
      prepared('DELETE FROM letters WHERE n = ? AND run_n = ? AND key IS NULL').run(id, runN)
      prepared('UPDATE letters SET consumed = 1, body = NULL WHERE n = ? AND run_n = ? AND consumed = 0').run(id, runN)
    },
  }
}
