import { Failure } from '#contracts/errors'
import type { StoredEvent } from '#contracts/event/envelope'
import { isSettled, type RunRecord } from '#contracts/run/run'
import type {
  IdempotencyClaim,
  JournalEntry,
  Letter,
  LetterDraft,
  PostOutcome,
  RunChange,
  RunHold,
  RunStore,
} from '#contracts/store/run-store'
import { ConversationLog } from './conversation-log.js'
import { createSteadyClock } from './steady-clock.js'

export interface MemoryRunStoreOptions {
  /** Milliseconds since the epoch; what it returns may jump back, the store's clock does not. */
  readonly now?: () => number
  /** How many settled runs are kept, newest first. Default 2,000. */
  readonly maxSettledRuns?: number
  /**
   * A run that settled so short a time ago is kept beside those, for a caller whose connection has to wait on a busy
   * machine; up to five times as many. Default 10,000 ms.
   */
  readonly graceMs?: number
}

interface Entry {
  record: RunRecord
  owner: string | undefined
  fence: number
  journal: JournalEntry[]
  letters: Letter[]
  readonly events: StoredEvent[]
  readonly letterKeys: Set<string>
  readonly log: ConversationLog
  readonly claimKey: string | undefined
}

const DEFAULT_SETTLED_RUNS = 2_000
const DEFAULT_GRACE_MS = 10_000
const MOST_IN_GRACE = 5
const DEFAULT_LIST_LIMIT = 100
const inTenant = (tenantId: string, key: string) => `${tenantId}\0${key}`

/** The run store that ends with the process. Holds every unfinished run and a bounded number of settled ones. */
export function createMemoryRunStore(options: MemoryRunStoreOptions = {}): RunStore {
  const now = createSteadyClock(options.now)
  const maxSettled = options.maxSettledRuns ?? DEFAULT_SETTLED_RUNS
  const graceMs = options.graceMs ?? DEFAULT_GRACE_MS
  const runs = new Map<string, Entry>()
  const logs = new Map<string, ConversationLog>()
  const claims = new Map<string, IdempotencyClaim & { readonly runId: string }>()
  /** When each run settled, in that order. */
  const settled = new Map<string, number>()
  let lettersPosted = 0

  const find = (tenantId: string, runId: string): Entry | undefined => {
    const entry = runs.get(runId)
    return entry?.record.tenant_id === tenantId ? entry : undefined
  }

  const held = (hold: RunHold): Entry => {
    const entry = runs.get(hold.runId)
    if (entry?.fence !== hold.fence) throw new Failure('fenced', `run ${hold.runId} is held by somebody else now`)
    return entry
  }

  function logOf({ tenant_id, conversation_id }: RunRecord): ConversationLog {
    const key = inTenant(tenant_id, conversation_id)
    const log = logs.get(key) ?? new ConversationLog()
    logs.set(key, log)
    return log
  }

  function forget(runId: string): void {
    const entry = runs.get(runId)
    settled.delete(runId)
    runs.delete(runId)
    if (!entry) return
    if (entry.claimKey !== undefined) claims.delete(entry.claimKey)
    if (entry.log.drop(runId)) logs.delete(inTenant(entry.record.tenant_id, entry.record.conversation_id))
  }

  function apply(entry: Entry, change: RunChange): void {
    const { record, events = [], journal = [], consumed = [] } = change
    assertSequence(entry.record.id, entry.events.length, events)
    if (events.length > 0) entry.log.append(entry.record.id, entry.events, events.length)
    for (const event of events) entry.events.push(event)
    for (const line of journal) {
      if (line.kind === 'note')
        entry.journal = entry.journal.filter(other => other.kind !== 'note' || other.key !== line.key)
      entry.journal.push(line)
    }
    if (consumed.length > 0) entry.letters = entry.letters.filter(letter => !consumed.includes(letter.id))
    if (record) entry.record = record
    if (!isSettled(entry.record.status) || settled.has(entry.record.id)) return
    entry.journal = []
    const time = now()
    settled.set(entry.record.id, time)
    for (const [oldest, at] of settled) {
      const most = time - at < graceMs ? maxSettled * MOST_IN_GRACE : maxSettled
      if (settled.size <= most) break
      forget(oldest)
    }
  }

  return {
    isDurable: false,
    now,

    async create(record, change, { owner, idempotency }) {
      const claimKey = idempotency && inTenant(record.tenant_id, idempotency.key)
      dropExpired(claims, now())
      const earlier = claimKey === undefined ? undefined : claims.get(claimKey)
      if (earlier && earlier.expiresAt > now())
        return earlier.fingerprint === idempotency?.fingerprint
          ? { kind: 'replayed', runId: earlier.runId }
          : { kind: 'conflict' }
      if (runs.has(record.id)) throw new Failure('conflict', `there already is a run ${record.id}`)
      assertSequence(record.id, 0, change.events ?? [])
      const entry: Entry = {
        record,
        owner,
        fence: 1,
        journal: [],
        letters: [],
        events: [],
        letterKeys: new Set(),
        log: logOf(record),
        claimKey,
      }
      entry.log.join(record.id)
      runs.set(record.id, entry)
      if (claimKey !== undefined && idempotency) claims.set(claimKey, { ...idempotency, runId: record.id })
      apply(entry, change)
      return { kind: 'created', fence: 1 }
    },

    async commit(hold, change) {
      apply(held(hold), change)
    },

    async claim(owner) {
      const free = [...runs.values()].filter(entry => entry.owner === undefined && !isSettled(entry.record.status))
      return free.map(entry => {
        entry.owner = owner
        entry.fence += 1
        return { record: entry.record, fence: entry.fence, journal: [...entry.journal] }
      })
    },

    async release(hold) {
      const entry = held(hold)
      entry.owner = undefined
      entry.fence += 1
    },

    async read(tenantId, runId) {
      return find(tenantId, runId)?.record
    },

    async list(tenantId, { conversationId, status, limit = DEFAULT_LIST_LIMIT, afterId }) {
      if (afterId !== undefined && !find(tenantId, afterId)) return []
      const newestFirst = [...runs.values()].reverse()
      const start = afterId === undefined ? 0 : newestFirst.findIndex(entry => entry.record.id === afterId) + 1
      return newestFirst
        .slice(start)
        .map(entry => entry.record)
        .filter(
          record =>
            record.tenant_id === tenantId &&
            (conversationId === undefined || record.conversation_id === conversationId) &&
            (status === undefined || record.status === status),
        )
        .slice(0, limit)
    },

    async events(tenantId, runId, after, limit, maxCharacters) {
      const start = after === undefined ? 0 : after + 1
      return upTo(maxCharacters, find(tenantId, runId)?.events.slice(start, start + limit) ?? [])
    },

    async addBeside(tenantId, runId, event) {
      const entry = find(tenantId, runId)
      entry?.log.addBeside(runId, event)
      return entry !== undefined
    },

    async conversationEvents(tenantId, conversationId, after, limit, maxCharacters) {
      const log = logs.get(inTenant(tenantId, conversationId))
      if (!log) return after ? 'unknown' : []
      const page = log.page(after, limit)
      return page === 'unknown' ? page : upTo(maxCharacters, page)
    },

    async post(tenantId, runId, letter) {
      const entry = find(tenantId, runId)
      if (!entry) return { kind: 'unknown' }
      const refusal = refusalOf(entry, letter)
      if (refusal) return refusal
      if (letter.key !== undefined) entry.letterKeys.add(letter.key)
      lettersPosted += 1
      const { kind, key, body } = letter
      entry.letters.push({ id: String(lettersPosted), kind, ...(key === undefined ? {} : { key }), body })
      return { kind: 'posted' }
    },

    async letters(runId) {
      return [...(runs.get(runId)?.letters ?? [])]
    },
  }
}

/** The first events that come to so many characters; at least one. */
function upTo<E extends Pick<StoredEvent, 'data'>>(
  maxCharacters: number | undefined,
  events: readonly E[],
): readonly E[] {
  if (maxCharacters === undefined) return events
  let size = 0
  const end = events.findIndex(({ data }) => {
    size += data.length
    return size >= maxCharacters
  })
  return end < 0 ? events : events.slice(0, end + 1)
}

function refusalOf(entry: Entry, letter: LetterDraft): Exclude<PostOutcome, { kind: 'posted' }> | undefined {
  const { status } = entry.record
  if (letter.key !== undefined && entry.letterKeys.has(letter.key)) return { kind: 'taken' }
  const isWelcome = letter.whenStatus ? letter.whenStatus.includes(status) : !isSettled(status)
  if (!isWelcome) return { kind: 'refused', status }
  const waiting = entry.letters.filter(other => other.kind === letter.kind).length
  return letter.limit !== undefined && waiting >= letter.limit ? { kind: 'full' } : undefined
}

function assertSequence(runId: string, next: number, events: readonly StoredEvent[]): void {
  const wrong = events.find((event, index) => event.seq !== next + index)
  if (wrong) throw new Failure('conflict', `event ${wrong.seq} of ${runId} leaves a hole or is there already`)
}

/** Claims are kept in the order they were made and mostly live equally long, so the oldest are looked at first. */
function dropExpired(claims: Map<string, IdempotencyClaim>, now: number): void {
  for (const [key, claim] of claims) {
    if (claim.expiresAt > now) return
    claims.delete(key)
  }
}
