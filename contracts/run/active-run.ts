import type { EventPayload, EventType } from '../event/payloads.js'
import type { ModelFacts, ModelOutcome } from '../model/client.js'
import type { Letter } from '../store/run-store.js'
import type { ToolDefinition, WorkspaceRoots } from '../tool/tool.js'
import type { CostTotals } from './cost.js'
import type { Message } from './message.js'
import type { RunPolicy } from './policy.js'
import type { RunRequest } from './request.js'
import type { Recap, RunStatus, WaitingStatus } from './run.js'
import type { Usage, UsageTotals } from './usage.js'

/** How a run may park itself until somebody outside answers. */
export interface Waiting {
  readonly status: WaitingStatus
  /** Kind of the letter that answers; only one with this `key` counts when given. */
  readonly kind: string
  readonly key?: string
  /** Milliseconds of the store's clock; undefined waits without end. */
  readonly deadlineAt?: number
  /** Emits what announces the wait; committed together with the status, before anyone can see either. */
  announce?(): void
  /** Emits and notes what follows from the outcome; committed together with it, so that no restart asks again. */
  conclude?(outcome: WaitOutcome): void
}

/** A question that is not part of the conversation. */
export interface SideQuestion {
  readonly system: string
  readonly messages: readonly Message[]
  readonly model?: string
}

/** `timed_out`: the deadline passed and no answer can win any more. */
export type WaitOutcome = { readonly kind: 'answered'; readonly letter: Letter } | { readonly kind: 'timed_out' }

/**
 * A run in flight, as hooks and tools see it. Everything shown here belongs to the epoch the run was admitted in.
 * After a restart the same run comes back with `isResumed`, its transcript, notes and waits as they were.
 */
export interface ActiveRun {
  readonly id: string
  readonly tenantId: string
  readonly conversationId: string
  readonly agentId: string
  /** As admitted: validated, filled in by `runAdmitting`, frozen. */
  readonly request: RunRequest
  readonly policy: RunPolicy
  readonly previousRunId?: string
  readonly status: RunStatus
  readonly isResumed: boolean
  readonly model: string
  readonly provider: string
  /** What is known of the model that answers; undefined before the provider is resolved. */
  readonly modelFacts?: ModelFacts | undefined
  readonly workspace: WorkspaceRoots
  /** 0 before the first step. */
  readonly step: number
  /** Model turns answered so far. */
  readonly turns: number
  readonly usage: Usage
  readonly usageTotals: UsageTotals
  readonly costTotals: CostTotals
  readonly startedAtMs: number
  /** Fires when the run is cancelled or the daemon stops. */
  readonly signal: AbortSignal
  /** History and this run's messages; the array grows in place, messages never change. */
  readonly transcript: readonly Message[]

  /** Every tool of the run's epoch, core and deferred, offered or not. */
  readonly tools: ReadonlyMap<string, ToolDefinition>

  /** Appends an event. Numbered now, shown once committed; never throws for a full or slow store. */
  emit<T extends EventType>(type: T, payload: EventPayload<T>): void
  /** Resolves when everything emitted, journalled and added so far is durable. */
  durable(): Promise<void>
  /** Adds messages to the end of the transcript. */
  addMessages(messages: readonly Message[]): void
  /** Replaces the transcript (compaction, reset). A tool call and its results must stay together. */
  rewriteTranscript(messages: readonly Message[]): void
  /** Parks the run. Throws when the run is cancelled or the daemon stops; after a restart the same wait is entered anew. */
  wait(waiting: Waiting): Promise<WaitOutcome>
  /** Takes the letters of a kind out of the mailbox; they are gone for good with the next commit. */
  takeLetters(kind: string): Promise<readonly Letter[]>
  /** Durable state of a plugin in this run: the last value set under `key`, also after a restart. JSON values only. */
  note(key: string): unknown
  setNote(key: string, value: unknown): void
  /** State that lives as long as the run is in memory, made on first use. */
  slot<T>(key: symbol, create: () => T): T
  /**
   * Asks the run's own provider something on the side (a summary): nothing of it is streamed or added to the transcript,
   * its tokens and cost count for the run, which is no turn of it. `model` is routed as a run of that model would be.
   */
  consult(question: SideQuestion): Promise<ModelOutcome>
  /** Sets the recap that the finished run shows. */
  setRecap(recap: Recap): void
}
