import type { ConversationCursor, StoredEvent } from '../event/envelope.js'
import type { Message } from '../run/message.js'
import type { RunRecord, RunStatus } from '../run/run.js'

/** Proof of holding a run. A write whose fence is older than the store's fails with `fenced` and changes nothing. */
export interface RunHold {
  readonly runId: string
  readonly fence: number
}

/**
 * What a run leaves behind so that another process can go on with it, in order. `intent`: a mutating call is about to
 * start. `rewrite`: from here on the transcript, earlier history included, is this. `note`: a plugin's last word per key.
 */
export type JournalEntry =
  | { readonly kind: 'message'; readonly step: number; readonly message: Message }
  | { readonly kind: 'intent'; readonly step: number; readonly call_id: string }
  | { readonly kind: 'rewrite'; readonly step: number; readonly messages: readonly Message[] }
  | { readonly kind: 'note'; readonly key: string; readonly value: unknown }

/** One unit of work on a run: all of it is durable, or none. */
export interface RunChange {
  /** Appended to the log. Numbers must follow the last stored one without a hole. */
  readonly events?: readonly StoredEvent[]
  /** Replaces the record. Id, tenant, conversation and creation time of a run never change. */
  readonly record?: RunRecord
  readonly journal?: readonly JournalEntry[]
  /** Ids of letters that are dealt with by this change; they are gone with it. */
  readonly consumed?: readonly string[]
}

/** A request that must have one effect however often it is sent. Keys live inside a tenant. */
export interface IdempotencyClaim {
  readonly key: string
  /** Digest of the body; the same key with another fingerprint is a conflict. */
  readonly fingerprint: string
  /** Milliseconds of the store's clock; afterwards the key is free again. */
  readonly expiresAt: number
}

export type CreateOutcome =
  | { readonly kind: 'created'; readonly fence: number }
  | { readonly kind: 'replayed'; readonly runId: string }
  | { readonly kind: 'conflict' }

/** A message to a run from outside: cancel, steer, an answer. A durable row, not a call into a process. */
export interface Letter {
  readonly id: string
  readonly kind: string
  /** At most one letter per run and key is ever accepted, also after it was consumed: the first one wins. */
  readonly key?: string
  readonly body: unknown
}

export interface LetterDraft {
  readonly kind: string
  readonly key?: string
  readonly body?: unknown
  /** Refused with `full` while this many letters of the kind wait. */
  readonly limit?: number
  /** Refused with `refused` when the run's status is none of these. Default: any but a settled one. */
  readonly whenStatus?: readonly RunStatus[]
}

export type PostOutcome =
  | { readonly kind: 'posted' }
  /** A letter with that key was accepted before. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'full' }
  | { readonly kind: 'refused'; readonly status: RunStatus }
  | { readonly kind: 'unknown' }

export interface RunQuery {
  readonly conversationId?: string
  readonly status?: RunStatus
  /** Default 100. */
  readonly limit?: number
  /** Continue after this run, in list order; nothing follows a run the tenant does not have. */
  readonly afterId?: string
}

/** An unfinished run whose former holder is gone. */
export interface ClaimedRun {
  readonly record: RunRecord
  readonly fence: number
  readonly journal: readonly JournalEntry[]
}

/** An event beside the runs of a conversation, serialised as they are. */
export interface SideEvent {
  /** Names it within the deployment. */
  readonly mark: string
  readonly type: string
  readonly data: string
}

export interface ConversationEvent {
  readonly at: ConversationCursor
  readonly type: string
  readonly data: string
}

/**
 * Runs, their logs, journals and mailboxes. The tenant is part of every key: another tenant's run is as absent as one
 * that never was. Methods resolve when the work is durable and reject with `store_unavailable` when it is not; a
 * rejected change left nothing behind. Changes of one run are applied in the order of the calls.
 */
export interface RunStore {
  /** False for stores that end with the process. */
  readonly isDurable: boolean
  /** Milliseconds since the epoch by the store's clock; never goes back. Everything that orders or expires uses it. */
  now(): number
  /** The run, its first events, its first journal entries and its idempotency claim in one unit, held by `owner`. */
  create(
    record: RunRecord,
    change: Pick<RunChange, 'events' | 'journal'>,
    options: { readonly owner: string; readonly idempotency?: IdempotencyClaim },
  ): Promise<CreateOutcome>
  commit(hold: RunHold, change: RunChange): Promise<void>
  /** Every unfinished run nobody living holds, now held by `owner` under a higher fence; oldest first. */
  claim(owner: string): Promise<readonly ClaimedRun[]>
  /** Lets go of a run without settling it, so that the next `claim` may take it. */
  release(hold: RunHold): Promise<void>
  read(tenantId: string, runId: string): Promise<RunRecord | undefined>
  /** Newest first by creation. */
  list(tenantId: string, query: RunQuery): Promise<readonly RunRecord[]>
  /**
   * Events with `seq > after` (from the start when undefined or -1), at most `limit`, and no more of them once they come
   * to about `maxCharacters`, but at least one. Empty for an unknown run.
   */
  events(
    tenantId: string,
    runId: string,
    after: number | undefined,
    limit: number,
    maxCharacters?: number,
  ): Promise<readonly StoredEvent[]>
  /**
   * Appends an event to the conversation of a run, whatever its status and holder; a mark that was there before changes
   * nothing. False for an unknown run.
   */
  addBeside(tenantId: string, runId: string, event: SideEvent): Promise<boolean>
  /**
   * Events of a conversation, of its runs and beside them, in append order, after the cursor. `unknown` when the cursor is none of them:
   * the caller then starts over. `maxCharacters` as above.
   */
  conversationEvents(
    tenantId: string,
    conversationId: string,
    after: ConversationCursor | undefined,
    limit: number,
    maxCharacters?: number,
  ): Promise<readonly ConversationEvent[] | 'unknown'>
  /** Puts a letter into a run's mailbox, checked and stored in one unit. */
  post(tenantId: string, runId: string, letter: LetterDraft): Promise<PostOutcome>
  /** Letters that were not consumed yet, oldest first. */
  letters(runId: string): Promise<readonly Letter[]>
}
