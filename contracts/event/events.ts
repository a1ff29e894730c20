import type { FastifyReply, FastifyRequest } from 'fastify'
import type { StoredEvent } from './envelope.js'

/** An event that is told beside the runs. `step` is the run's where it is not given. */
export interface ToldEvent {
  /** Dotted words, not below `run.`: outside the 77 types of runs, or one of them that may follow a run's end. */
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  /** A UUID; default: a fresh one. */
  readonly mark?: string
}

/**
 * Readers of the log. What a reader gets is what is committed, in order, whole: a slow, late or reconnecting reader
 * loses and doubles nothing and costs the daemon at most one page.
 */
export interface Events {
  /** Committed events with `seq > after`; undefined for an unknown run. */
  read(
    tenantId: string,
    runId: string,
    after: number | undefined,
    limit: number,
  ): Promise<readonly StoredEvent[] | undefined>
  /** Pages of events as they are committed; ends after the terminal event. Undefined for an unknown run. */
  follow(
    tenantId: string,
    runId: string,
    after: number | undefined,
    signal: AbortSignal,
  ): Promise<AsyncIterable<readonly StoredEvent[]> | undefined>
  /**
   * Tells those who follow the conversation of a run, settled or not, of something beside it: the event stands in their
   * stream and in no run's. True when it is durable, false for an unknown run. The same `mark` is told once.
   */
  tell(tenantId: string, runId: string, told: ToldEvent): Promise<boolean>
  /** Answers with a run's SSE stream; takes over the reply. Throws `not_found` before that. */
  streamRun(request: FastifyRequest, reply: FastifyReply, runId: string): Promise<void>
  /** Answers with the events of every run of a conversation and those beside them; terminal events do not end it. */
  streamConversation(request: FastifyRequest, reply: FastifyReply, conversationId: string): Promise<void>
}
