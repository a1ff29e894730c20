import type { FastifyReply, FastifyRequest } from 'fastify'
import type { StoredEvent } from './envelope.js'

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
  /** Answers with a run's SSE stream; takes over the reply. Throws `not_found` before that. */
  streamRun(request: FastifyRequest, reply: FastifyReply, runId: string): Promise<void>
  /** Answers with the events of every run of a conversation; terminal events do not end it. */
  streamConversation(request: FastifyRequest, reply: FastifyReply, conversationId: string): Promise<void>
}
