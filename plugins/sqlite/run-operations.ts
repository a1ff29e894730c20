import { mailboxOperations } from './mailbox-operations.js'
import type { Prepared } from './prepared.js'
import { type Arguments, type Operations, Refusal, type Value } from './protocol.js'
import { listRuns, readRun } from './run-queries.js'
import { conversationEvents, runEvents } from './stretch-queries.js'

/** What writes need to know of a run; remembered while it is active, as this thread is the only writer of runs. */
interface Known {
  readonly n: number
  readonly conversationN: number
  fence: number
  next: number
  status: string
}

const MAX_KNOWN = 10_000
const SETTLED = new Set(['completed', 'failed', 'cancelled'])
const NOBODY = ''

/** Runs, their logs, journals and claims, on the database thread. Argument order: see `run-store.ts`, which writes it. */
export function runOperations(prepared: Prepared): Operations {
  const known = new Map<string, Known>()

  function look(runId: string): Known | undefined {
    const remembered = known.get(runId)
    if (remembered) return remembered
    const row = prepared('SELECT n, conversation_n, fence, status FROM runs WHERE id = ?').get(runId)
    if (row === undefined) return undefined
    const [n, conversationN, fence, status] = row as [number, number, number, string]
    const last = prepared('SELECT first + count FROM stretches WHERE run_n = ? ORDER BY first DESC LIMIT 1').get(n)
    const run = { n, conversationN, fence, status, next: (last as [number] | undefined)?.[0] ?? 0 }
    remember(runId, run)
    return run
  }

  function remember(runId: string, run: Known): void {
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(runId, run)
  }

  function held(runId: string, fence: number): Known {
    const run = look(runId)
    if (run?.fence !== fence) throw new Refusal('fenced', `run ${runId} is held by somebody else now`)
    return run
  }

  function insertStretches(args: Arguments, run: Known): void {
    for (let left = args.number(); left > 0; left -= 1) {
      const count = args.number()
      prepared(
        'INSERT INTO stretches (run_n, conversation_n, first, count, types, lines) VALUES (?, ?, ?, ?, ?, ?)',
      ).run(run.n, run.conversationN, run.next, count, args.text(), args.text())
      run.next += count
    }
  }

  function insertJournal(args: Arguments, runN: number): void {
    for (let left = args.number(); left > 0; left -= 1) {
      const note = args.value()
      if (note !== null) prepared('DELETE FROM journal WHERE run_n = ? AND note = ?').run(runN, note)
      prepared('INSERT INTO journal (run_n, note, lines) VALUES (?, ?, ?)').run(runN, note, args.text())
    }
  }

  /** What an earlier request with this key already decided; undefined when the key is free. */
  function answeredBy(tenantId: string, key: Value, fingerprint: string, now: number): readonly Value[] | undefined {
    const row = prepared('SELECT fingerprint, run_id, expires_at FROM idempotency WHERE tenant_id = ? AND key = ?').get(
      tenantId,
      key,
    )
    if (row === undefined) return undefined
    const [earlier, runId, expiresAt] = row as [string, string, number]
    if (expiresAt <= now) return undefined
    return earlier === fingerprint ? ['replayed', runId] : ['conflict']
  }

  function create(args: Arguments): readonly Value[] {
    const [id, tenantId, conversationId, status, owner] = [
      args.text(),
      args.text(),
      args.text(),
      args.text(),
      args.text(),
    ]
    const [record, draft, now] = [args.text(), args.text(), args.number()]
    const [key, fingerprint, expiresAt] = [args.value(), args.text(), args.number()]
    const answered = key === null ? undefined : answeredBy(tenantId, key, fingerprint, now)
    if (answered) return answered
    if (prepared('SELECT 1 FROM runs WHERE id = ?').get(id) !== undefined)
      throw new Refusal('conflict', `there already is a run ${id}`)
    if (key !== null) {
      prepared('DELETE FROM idempotency WHERE expires_at <= ?').run(now)
      prepared('INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)').run(tenantId, key, fingerprint, id, expiresAt)
    }
    const first = prepared(
      'SELECT conversation_n FROM runs WHERE tenant_id = ? AND conversation_id = ? ORDER BY n LIMIT 1',
    ).get(tenantId, conversationId) as [number] | undefined
    const inserted = prepared(
      'INSERT INTO runs (id, tenant_id, conversation_id, conversation_n, status, owner, fence, record) VALUES (?, ?, ?, ?, ?, ?, 1, ?)',
    ).run(id, tenantId, conversationId, first?.[0] ?? 0, status, owner, record)
    const n = Number(inserted.lastInsertRowid)
    if (!first) prepared('UPDATE runs SET conversation_n = n WHERE n = ?').run(n)
    prepared('INSERT INTO run_drafts VALUES (?, ?)').run(n, draft)
    const run: Known = { n, conversationN: first?.[0] ?? n, fence: 1, next: 0, status }
    insertStretches(args, run)
    insertJournal(args, n)
    remember(id, run)
    return ['created', 1]
  }

  function commit(args: Arguments): readonly Value[] {
    const [runId, fence, first] = [args.text(), args.number(), args.number()]
    const run = held(runId, fence)
    if (first >= 0 && first !== run.next)
      throw new Refusal('conflict', `event ${first} of ${runId} does not follow event ${run.next - 1}`)
    const [status, record, draft] = [args.optionalText(), args.optionalText(), args.value()]
    if (record !== undefined && status !== undefined) {
      // Naming an indexed column costs an index write, so the status is named only when it changes.
      if (status === run.status) prepared('UPDATE runs SET record = ? WHERE n = ?').run(record, run.n)
      else prepared('UPDATE runs SET record = ?, status = ? WHERE n = ?').run(record, status, run.n)
      run.status = status
    }
    if (draft !== null) prepared('UPDATE run_drafts SET draft = ? WHERE run_n = ?').run(draft, run.n)
    insertStretches(args, run)
    insertJournal(args, run.n)
    for (let left = args.number(); left > 0; left -= 1) mailbox.consume(run.n, args.text())
    if (SETTLED.has(run.status)) {
      prepared('DELETE FROM journal WHERE run_n = ?').run(run.n)
      known.delete(runId)
    }
    return []
  }

  /** `[tenant, run, mark, type, line]` → 1, or 0 for an unknown run. */
  function addBeside(args: Arguments): readonly Value[] {
    const run = prepared('SELECT n, conversation_n FROM runs WHERE tenant_id = ? AND id = ?').get(
      args.text(),
      args.text(),
    ) as [number, number] | undefined
    if (!run) return [0]
    prepared(
      `INSERT INTO stretches (run_n, conversation_n, first, count, mark, types, lines) VALUES (?, ?, -1, 1, ?, ?, ?)
       ON CONFLICT (mark) WHERE mark IS NOT NULL DO NOTHING`,
    ).run(...run, args.text(), args.text(), args.text())
    return [1]
  }

  function claim(args: Arguments): readonly Value[] {
    const owner = args.text()
    const free = prepared(
      `SELECT n, id, fence, record, draft FROM runs JOIN run_drafts ON run_n = n
       WHERE status IN ('queued', 'running', 'waiting_for_user', 'waiting_for_approval') AND owner = '' ORDER BY n`,
    ).all() as [number, string, number, string, string][]
    return free.flatMap(([n, id, fence, record, draft]) => {
      prepared('UPDATE runs SET owner = ?, fence = fence + 1 WHERE n = ?').run(owner, n)
      known.delete(id)
      const journal = prepared('SELECT lines FROM journal WHERE run_n = ? ORDER BY n').all(n) as [string][]
      return [fence + 1, record, draft, journal.map(([lines]) => lines).join('\n')]
    })
  }

  function release(args: Arguments): readonly Value[] {
    const [runId, fence] = [args.text(), args.number()]
    const run = held(runId, fence)
    prepared('UPDATE runs SET owner = ?, fence = fence + 1 WHERE n = ?').run(NOBODY, run.n)
    known.delete(runId)
    return []
  }

  /** The holders of a former process are gone: we have the lock. */
  function freeAll(): readonly Value[] {
    prepared(
      `UPDATE runs SET owner = '' WHERE status IN ('queued', 'running', 'waiting_for_user', 'waiting_for_approval')
       AND owner <> ''`,
    ).run()
    return []
  }

  const mailbox = mailboxOperations(prepared)
  return {
    forget: () => known.clear(),
    reads: {
      ...mailbox.reads,
      'run.read': args => readRun(prepared, args),
      'run.list': args => listRuns(prepared, args),
      'run.events': args => runEvents(prepared, args),
      'run.conversationEvents': args => conversationEvents(prepared, args),
    },
    writes: {
      ...mailbox.writes,
      'run.create': create,
      'run.commit': commit,
      'run.addBeside': addBeside,
      'run.claim': claim,
      'run.release': release,
      'run.freeAll': freeAll,
    },
  }
}
