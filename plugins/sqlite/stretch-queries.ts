import type { Prepared } from './prepared.js'
import { type Arguments, MAX_STRETCH, type Value } from './protocol.js'

type Row = readonly [n: number, at: string, first: number, count: number, types: string, lines: string]

/** `[tenant, run, after, limit, characters?]` → `[first, types, lines]`: the page, its events' types and data one per line. */
export function runEvents(prepared: Prepared, args: Arguments): readonly Value[] {
  const [tenantId, runId, after, limit] = [args.text(), args.text(), args.number(), args.number()]
  const room = args.optionalNumber()
  const run = prepared('SELECT n FROM runs WHERE id = ? AND tenant_id = ?').get(runId, tenantId)
  if (run === undefined) return []
  const [runN] = run as [number]
  // Begun only when it is read: a cursor that nobody finishes keeps its statement busy for good.
  const rows = () =>
    prepared(
      `SELECT n, '', first, count, types, lines FROM stretches
     WHERE run_n = ? AND first > ? AND first + count > ? ORDER BY first`,
    ).iterate(runN, after - MAX_STRETCH, after + 1) as IterableIterator<Row>
  return page(rows, { limit, room }, ([, , first]) => after + 1 - first)
}

/**
 * `[tenant, conversation, cursor run?, cursor seq, cursor mark?, limit, characters?]` → a page as above in append order, with the
 * run id before each stretch, and for an event beside the runs (whose first is -1) its mark and the run id; `['unknown']`
 * for a cursor that is no event of the conversation.
 */
export function conversationEvents(prepared: Prepared, args: Arguments): readonly Value[] {
  const [tenantId, conversationId, runId, seq] = [args.text(), args.text(), args.value(), args.number()]
  const [mark, limit, room] = [args.value(), args.number(), args.optionalNumber()]
  const found = prepared(
    'SELECT conversation_n FROM runs WHERE tenant_id = ? AND conversation_id = ? ORDER BY n LIMIT 1',
  ).get(tenantId, conversationId) as [number] | undefined
  if (!found) return runId === null ? [] : ['unknown']
  const conversationN = found[0]
  let from = 0
  if (runId !== null) {
    const known = 'SELECT s.n FROM stretches s JOIN runs r ON r.n = s.run_n WHERE r.id = ? AND s.conversation_n = ?'
    const at = (
      mark === null
        ? prepared(`${known} AND s.first <= ? AND s.first + s.count > ? AND s.first > ?`).get(
            ...[runId, conversationN, seq, seq, seq - MAX_STRETCH],
          )
        : prepared(`${known} AND s.mark = ?`).get(runId, conversationN, mark)
    ) as [number] | undefined
    if (!at) return ['unknown']
    from = at[0]
  }
  const rows = () =>
    prepared(
      `SELECT s.n, coalesce(s.mark || ' ', '') || r.id, s.first, s.count, s.types, s.lines FROM stretches s JOIN runs r ON r.n = s.run_n
     WHERE s.conversation_n = ? AND s.n >= ? ORDER BY s.n`,
    ).iterate(conversationN, from) as IterableIterator<Row>
  return page(rows, { limit, room }, ([n, , first]) => (runId !== null && n === from ? seq + 1 - first : 0))
}

interface Bounds {
  readonly limit: number
  /** Characters of data after which no further stretch is begun. */
  readonly room: number | undefined
}

/** Stretches as `[at, first, types, lines]`, the first one without what was seen, no more than the bounds allow. */
function page(rows: () => Iterable<Row>, bounds: Bounds, seenIn: (row: Row) => number): readonly Value[] {
  const reply: Value[] = []
  let left = bounds.limit
  let room = bounds.room ?? Number.POSITIVE_INFINITY
  if (left <= 0) return reply
  for (const row of rows()) {
    const [, at, first, count, types, lines] = row
    const skip = Math.max(0, seenIn(row))
    const take = Math.min(count - skip, left)
    if (take <= 0) continue
    const text = part(lines, skip, take, count)
    reply.push(at, first + skip, part(types, skip, take, count), text)
    left -= take
    room -= text.length
    if (left === 0 || room <= 0) break
  }
  return reply
}

const part = (text: string, skip: number, take: number, count: number): string =>
  take === count
    ? text
    : text
        .split('\n')
        .slice(skip, skip + take)
        .join('\n')
