import { type Static, Type } from '@sinclair/typebox'

/** Always the number 1, in every payload. */
export const SCHEMA_VERSION = 1

/** What one SSE `data:` line holds, and what the log keeps of an event. */
export const EventEnvelope = Type.Object({
  id: Type.String({ description: '`<run_id>:<seq>`; beside the runs `<run_id>:conversation:<mark>`.' }),
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

/** A place in a run's stream, as `Last-Event-ID` names it. */
export interface EventCursor {
  readonly runId: string
  readonly seq: number
}

/** A place in a conversation's stream: an event of one of its runs, or one that stands beside them. */
export type ConversationCursor = EventCursor | { readonly runId: string; readonly mark: string }

/** The id of the event at that place. */
export const eventIdOf = (at: ConversationCursor): string =>
  'mark' in at ? `${at.runId}:conversation:${at.mark}` : `${at.runId}:${at.seq}`

/** Reads `<run_id>:<seq>`, split at the last colon; undefined for anything malformed, which callers ignore. */
export function parseEventId(text: string | undefined): EventCursor | undefined {
  if (text === undefined || text.length > 512) return undefined
  const at = text.lastIndexOf(':')
  const digits = text.slice(at + 1)
  if (at < 1 || !/^\d{1,16}$/.test(digits)) return undefined
  const seq = Number(digits)
  return Number.isSafeInteger(seq) ? { runId: text.slice(0, at), seq } : undefined
}

const BESIDE = /^(.{1,400}):conversation:([\w-]{1,64})$/

/** Reads the id of an event of a conversation; undefined as above. */
export function parseConversationEventId(text: string | undefined): ConversationCursor | undefined {
  const [, runId, mark] = BESIDE.exec(text ?? '') ?? []
  return runId !== undefined && mark !== undefined ? { runId, mark } : parseEventId(text)
}
