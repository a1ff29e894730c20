import type { Identity } from '../identity.js'
import type { IdempotencyClaim, LetterDraft, PostOutcome, RunQuery } from '../store/run-store.js'
import type { ActiveRun } from './active-run.js'
import type { RunRequest } from './request.js'
import type { RunRecord } from './run.js'

export interface StartOptions {
  readonly idempotency?: Omit<IdempotencyClaim, 'expiresAt'> & { readonly ttlMs: number }
  /** The run this one continues. */
  readonly previousRunId?: string
  /** For callers that must know the id beforehand; default `run_<uuid>`. */
  readonly runId?: string
}

/** `isReplay`: an earlier request with the same idempotency key started it. */
export interface Started {
  readonly run: RunRecord
  readonly isReplay: boolean
}

/**
 * The run port: what routes, cron, webhooks and sub-agents drive runs through. Another tenant's run is unknown
 * everywhere. Failures are `Failure`s with the codes of the interface.
 */
export interface Runs {
  /** Admits a run; resolves once it and its `run.started` are durable. `request` is checked here, field by field. */
  start(request: unknown, identity: Identity, options?: StartOptions): Promise<Started>
  /** From memory while it is active, else from the store. */
  read(tenantId: string, runId: string): Promise<RunRecord | undefined>
  list(tenantId: string, query: RunQuery): Promise<readonly RunRecord[]>
  /** The run itself, while it is in memory here: in flight, or queued. */
  active(tenantId: string, runId: string): ActiveRun | undefined
  /** Idempotent, also on settled runs; undefined for an unknown run. Resolves when the wish is durable. */
  cancel(tenantId: string, runId: string): Promise<RunRecord | undefined>
  /** Posts a letter and wakes the run. */
  send(tenantId: string, runId: string, letter: LetterDraft): Promise<PostOutcome>
  /**
   * Resolves with the settled record, undefined for an unknown run. Rejects when the signal fires, and with `unavailable`
   * when the run leaves this process unfinished, because the daemon stops.
   */
  settled(tenantId: string, runId: string, signal: AbortSignal): Promise<RunRecord | undefined>
  /** True when runs outlive the process; lists need it. */
  readonly isDurable: boolean
  /** Fields of `RunRequest` the running plugins give effect to. */
  readonly honoured: ReadonlySet<keyof RunRequest | string>
}
