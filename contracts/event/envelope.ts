import { type Static, Type } from '@sinclair/typebox'

/** Always the number 1, in every payload. */
export const SCHEMA_VERSION = 1

/** What one SSE `data:` line holds, and what the log keeps of an event. */
export const EventEnvelope = Type.Object({
  id: Type.String({ description: '`<run_id>:<seq>`' }),
  run_id: Type.String(),
  type: Type.String(),
  timestamp: Type.String({ description: 'RFC 3339, UTC.' }),
  payload: Type.Optional(
    Type.Object(
      {
        schema_version: Type.Literal(SCHEMA_VERSION),
        conversation_id: Type.String(),
        step: Type.Integer({ minimum: 0 }),
      },
      { additionalProperties: true },
    ),
  ),
})
export type EventEnvelope = Readonly<Static<typeof EventEnvelope>>

/** An event as it is stored and sent: serialised once, when it was emitted. */
export interface StoredEvent {
  /** Zero-based within the run, without holes. */
  readonly seq: number
  readonly type: string
  /** The envelope as JSON on one line. */
  readonly data: string
}

/** A place in a run's or a conversation's stream, as `Last-Event-ID` names it. */
export interface EventCursor {
  readonly runId: string
  readonly seq: number
}

/** Reads `<run_id>:<seq>`, split at the last colon; undefined for anything malformed, which callers ignore. */
export function parseEventId(text: string | undefined): EventCursor | undefined {
  if (text === undefined || text.length > 512) return undefined
  const at = text.lastIndexOf(':')
  const digits = text.slice(at + 1)
  if (at < 1 || !/^\d{1,16}$/.test(digits)) return undefined
  const seq = Number(digits)
  return Number.isSafeInteger(seq) ? { runId: text.slice(0, at), seq } : undefined
}
