import type { CostStatus, Rates } from '../run/cost.js'
import type { Message, ToolCall } from '../run/message.js'
import type { Usage } from '../run/usage.js'

/** A tool as a model is told of it. `parameters` is a JSON Schema. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/**
 * One turn to be answered. Message objects are immutable and keep their identity from turn to turn and run to run, and
 * `tools` is the same array while the offer is unchanged, so a wire may cache what it serialises in a WeakMap.
 */
export interface ModelRequest {
  readonly model: string
  /** The composed system prompt; empty when there is none. Byte-stable from step to step. */
  readonly system: string
  readonly messages: readonly Message[]
  /** System messages for this turn only, after the transcript. */
  readonly trailing: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly reasoningEffort?: string
  readonly maxOutputTokens?: number
  readonly runId: string
  readonly conversationId: string
  readonly step: number
}

/** A piece of an answer, as it arrives. Fragments of one tool call share `index`; `id` and `name` come with the first. */
export type ModelPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string }
  | {
      readonly kind: 'tool_call'
      readonly index: number
      readonly id?: string
      readonly name?: string
      readonly arguments: string
    }

/** Where a client puts the parts of an answer. */
export interface ModelSink {
  /** Call it for each part in order, as soon as it is parsed; parts of one network read belong in one tick. Never throws. */
  part(part: ModelPart): void
  /** Await what this returns before reading more: it is a promise while the log is behind, else undefined. */
  drained(): Promise<void> | undefined
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other' | ''

/**
 * Why a turn was not answered. `retryable`: the same request may succeed later (429, 5xx, broken connection).
 * `auth`: the key is missing or refused. `context_length`: the request is too long for the model. `content`: the
 * provider refuses the content. `cancelled`: the signal fired. `other`: everything else.
 */
export interface ModelFailure {
  readonly category: 'retryable' | 'auth' | 'context_length' | 'content' | 'cancelled' | 'other'
  /** A sentence for a person; at most 400 characters of a provider's body, no markup, never a key. */
  readonly message: string
  /** HTTP status, where there was one. */
  readonly status?: number
  /** What the provider asked to wait (`Retry-After`), milliseconds. */
  readonly retryAfterMs?: number
}

export interface ModelAnswer {
  readonly kind: 'answered'
  readonly text: string
  /** In the model's order; ids are unique within the answer. */
  readonly toolCalls: readonly ToolCall[]
  /** All thinking text of the turn. */
  readonly reasoning?: string
  /** Absent when the provider reported none. */
  readonly usage?: Usage
  /** A total the provider itself states; wins over rates. */
  readonly costUsd?: number
  readonly costStatus?: CostStatus
  readonly finish: FinishReason
  readonly modelVersion?: string
}

export type ModelOutcome = ModelAnswer | { readonly kind: 'failed'; readonly failure: ModelFailure }

/**
 * One provider's wire. `answer` sends one request, once: retries, fallback and accounting are the run loop's. It never
 * rejects: every failure, also a broken stream, is a `failed` outcome. When `signal` fires it stops reading, closes the
 * connection and resolves with category `cancelled` within a tick. The answer repeats what the sink was given, whole.
 */
export interface ModelClient {
  readonly provider: string
  answer(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome>
}

/** What is known of the model that answers, without the means to ask it. */
export type ModelFacts = Omit<ModelCandidate, 'client'>

/** One way to answer a run's turns. Candidates are tried in order when the run allows fallback. */
export interface ModelCandidate {
  readonly provider: string
  /** The id to send: aliases are already resolved. */
  readonly model: string
  readonly client: ModelClient
  /** Absent: the model has no price (`unpriced_model`). */
  readonly rates?: Rates
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
  /** Absent: unknown, taken to accept what is sent. */
  readonly modalities?: readonly string[]
  /** False: the model cannot call tools, and its client sends none. Absent: unknown, taken to call them. */
  readonly callsTools?: boolean
}
