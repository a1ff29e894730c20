import { Failure } from '#contracts/errors'
import type { Notice, Notices } from '#contracts/notices'
import type { Collection, Records, Stored } from '#contracts/store/records'

const MAX_WAITING = 20
const MAX_CHARACTERS = 600
const MAX_ATTEMPTS = 20
const KEPT_MS = 30 * 86_400_000
/** Forgotten with each post, so that conversations nobody continues do not pile up. */
const FORGOTTEN_AT_ONCE = 10

interface Queued extends Notice {
  /** The run it is offered to. */
  readonly taken_by?: string
}

interface Queue {
  readonly notices: readonly Queued[]
  readonly posted_at_ms: number
}

/** Whose notices are meant. */
export interface Reader {
  readonly id: string
  readonly tenantId: string
  readonly conversationId: string
}

/** The notices of each conversation, a record per conversation. */
export class NoticeQueue implements Notices {
  readonly #queues: Collection<Queue>

  constructor(
    records: Records,
    private readonly now: () => number,
  ) {
    this.#queues = records.collection<Queue>({
      name: 'runtime-context.notices',
      namespace: 'conversation',
      indexes: { posted: ({ posted_at_ms }) => posted_at_ms },
    })
  }

  async post(tenantId: string, conversationId: string, { id, text }: Notice): Promise<void> {
    const notice = { id, text: text.slice(0, MAX_CHARACTERS) }
    const posted_at_ms = this.now()
    await this.#change(tenantId, conversationId, notices => {
      if (notices.some(known => known.id === id)) return undefined
      const waiting = [...notices.filter(({ taken_by }) => taken_by === undefined), notice]
      return [...notices.filter(({ taken_by }) => taken_by !== undefined), ...waiting.slice(-MAX_WAITING)]
    })
    const old = await this.#queues.scan({ index: 'posted', below: posted_at_ms - KEPT_MS, limit: FORGOTTEN_AT_ONCE })
    for (const { tenantId: tenant, key, version } of old) await this.#queues.remove(tenant, key, version)
  }

  /** Gives a run all that wait; nobody else gets them. What it was given before is given again. */
  async take({ id, tenantId, conversationId }: Reader): Promise<readonly string[]> {
    const taken = await this.#change(tenantId, conversationId, notices => {
      if (notices.every(({ taken_by }) => taken_by !== undefined)) return undefined
      return notices.flatMap((notice): Queued[] => {
        if (notice.taken_by === undefined) return [{ ...notice, taken_by: id }]
        return notice.taken_by === id ? [notice] : []
      })
    })
    return textsOf(taken, id)
  }

  /** What a run was given, for one that comes back after a restart. */
  async given({ id, tenantId, conversationId }: Reader): Promise<readonly string[]> {
    return textsOf((await this.#queues.get(tenantId, conversationId))?.value.notices ?? [], id)
  }

  /** The run ends: what it was given is gone. */
  async drop({ id, tenantId, conversationId }: Reader): Promise<void> {
    await this.#change(tenantId, conversationId, notices =>
      notices.some(({ taken_by }) => taken_by === id) ? notices.filter(({ taken_by }) => taken_by !== id) : undefined,
    )
  }

  /** Changes the queue of a conversation, again when somebody else was first; undefined leaves it as it is. */
  async #change(
    tenantId: string,
    conversationId: string,
    next: (notices: readonly Queued[]) => readonly Queued[] | undefined,
  ): Promise<readonly Queued[]> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const stored = await this.#queues.get(tenantId, conversationId)
      const before = stored?.value.notices ?? []
      const notices = next(before)
      if (!notices) return before
      if (await this.#write(tenantId, conversationId, stored, notices)) return notices
    }
    throw new Failure('unavailable', `the notices of conversation ${conversationId} are being changed all the time`)
  }

  async #write(
    tenantId: string,
    key: string,
    stored: Stored<Queue> | undefined,
    notices: readonly Queued[],
  ): Promise<boolean> {
    if (stored && notices.length === 0) return this.#queues.remove(tenantId, key, stored.version)
    const written = await this.#queues.put(tenantId, key, { notices, posted_at_ms: this.now() }, stored?.version ?? 0)
    return written.kind === 'written'
  }
}

const textsOf = (notices: readonly Queued[], runId: string): readonly string[] =>
  notices.filter(({ taken_by }) => taken_by === runId).map(({ text }) => text)
