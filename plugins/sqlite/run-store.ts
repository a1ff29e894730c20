import { Failure } from '#contracts/errors'
import type { ConversationCursor, StoredEvent } from '#contracts/event/envelope'
import type { RunStatus } from '#contracts/run/run'
import type { ClaimedRun, ConversationEvent, Letter, PostOutcome, RunStore } from '#contracts/store/run-store'
import type { OpenDatabase } from './databases.js'
import { createDraftMemory, recordFrom, recordText } from './draft-memory.js'
import { journalArguments, journalFrom } from './journal-lines.js'
import { rowsOf } from './rows.js'
import { stretchArguments, stretchEvents } from './stretches.js'

const DEFAULT_LIST_LIMIT = 100

/** Runs, logs, journals and mailboxes in a database file. JSON is made here, once; the database thread sees text only. */
export function createSqliteRunStore({ now, send }: OpenDatabase): RunStore {
  const drafts = createDraftMemory()

  return {
    isDurable: true,
    now,

    async create(record, change, { owner, idempotency }) {
      const { first, values } = stretchArguments(record.id, change.events ?? [])
      if (first > 0) throw new Failure('conflict', `event ${first} of ${record.id} leaves a hole at the start`)
      const reply = await send('run.create', [
        record.id,
        record.tenant_id,
        record.conversation_id,
        record.status,
        owner,
        recordText(record),
        drafts.text(record),
        now(),
        idempotency?.key ?? null,
        idempotency?.fingerprint ?? '',
        idempotency?.expiresAt ?? 0,
        ...values,
        ...journalArguments(change.journal ?? []),
      ])
      const [kind, detail] = reply
      if (kind === 'replayed') return { kind, runId: String(detail) }
      if (kind === 'conflict') return { kind }
      drafts.stored(record)
      return { kind: 'created', fence: Number(detail) }
    },

    async commit({ runId, fence }, { events = [], record, journal = [], consumed = [] }) {
      const { first, values } = stretchArguments(runId, events)
      const isDraftNew = record !== undefined && !drafts.isStored(record)
      await send('run.commit', [
        runId,
        fence,
        first,
        record?.status ?? null,
        record ? recordText(record) : null,
        isDraftNew ? drafts.text(record) : null,
        ...values,
        ...journalArguments(journal),
        consumed.length,
        ...consumed,
      ])
      if (isDraftNew) drafts.stored(record)
    },

    async claim(owner) {
      const reply = await send('run.claim', [owner])
      return rowsOf(reply, 4).map(([fence, record, draft, journal]): ClaimedRun => {
        const claimed = recordFrom(String(record), String(draft))
        drafts.stored(claimed)
        return { record: claimed, fence: Number(fence), journal: journalFrom(String(journal)) }
      })
    },

    async release({ runId, fence }) {
      await send('run.release', [runId, fence])
    },

    async read(tenantId, runId) {
      const [record, draft] = await send('run.read', [tenantId, runId])
      return record === undefined ? undefined : recordFrom(String(record), String(draft))
    },

    async list(tenantId, { conversationId, status, limit = DEFAULT_LIST_LIMIT, afterId }) {
      const reply = await send('run.list', [tenantId, conversationId ?? null, status ?? null, limit, afterId ?? null])
      return rowsOf(reply, 2).map(([record, draft]) => recordFrom(String(record), String(draft)))
    },

    async events(tenantId, runId, after, limit, maxCharacters) {
      const reply = await send('run.events', [tenantId, runId, after ?? -1, limit, maxCharacters ?? null])
      return rowsOf(reply, 4).flatMap(([, first, types, lines]): StoredEvent[] =>
        stretchEvents(Number(first), String(types), String(lines)),
      )
    },

    async addBeside(tenantId, runId, { mark, type, data }) {
      if (data.includes('\n') || type.includes('\n'))
        throw new Failure('internal_error', `an event beside ${runId} is not on one line`)
      const [found] = await send('run.addBeside', [tenantId, runId, mark, type, data])
      return found === 1
    },

    async conversationEvents(tenantId, conversationId, after, limit, maxCharacters) {
      const bounds = [...cursorArguments(after), limit, maxCharacters ?? null]
      const reply = await send('run.conversationEvents', [tenantId, conversationId, ...bounds])
      if (reply[0] === 'unknown' && reply.length === 1) return 'unknown'
      return rowsOf(reply, 4).flatMap(([at, first, types, lines]): ConversationEvent[] =>
        stretchEvents(Number(first), String(types), String(lines)).map(({ seq, type, data }) => ({
          at: placeOf(String(at), seq),
          type,
          data,
        })),
      )
    },

    async post(tenantId, runId, { kind, key, body, limit, whenStatus }): Promise<PostOutcome> {
      const text = body === undefined ? null : JSON.stringify(body)
      const statuses = whenStatus?.join(',') ?? null
      const reply = await send('run.post', [tenantId, runId, kind, key ?? null, text, limit ?? null, statuses])
      const [outcome, status] = reply as [PostOutcome['kind'], RunStatus]
      return outcome === 'refused' ? { kind: outcome, status } : { kind: outcome }
    },

    async letters(runId) {
      const reply = await send('run.letters', [runId])
      return rowsOf(reply, 4).map(
        ([id, kind, key, body]): Letter => ({
          id: String(id),
          kind: String(kind),
          ...(key === null ? {} : { key: String(key) }),
          body: body === null ? undefined : JSON.parse(String(body)),
        }),
      )
    },
  }
}

/** `[run?, seq, mark?]`; the stretch of an event beside the runs has the number -1. */
const cursorArguments = (after: ConversationCursor | undefined) =>
  after && 'mark' in after ? [after.runId, -1, after.mark] : [after?.runId ?? null, after?.seq ?? 0, null]

/** Of `<run>`, or `<mark> <run>` for an event beside the runs. */
function placeOf(at: string, seq: number): ConversationCursor {
  if (seq >= 0) return { runId: at, seq }
  const end = at.indexOf(' ')
  return { runId: at.slice(end + 1), mark: at.slice(0, end) }
}
