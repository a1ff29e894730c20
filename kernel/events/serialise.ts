import { SCHEMA_VERSION, type StoredEvent } from '#contracts/event/envelope'

/** What of a run goes into its events. */
export interface EventOrigin {
  readonly id: string
  readonly conversationId: string
  readonly step: number
}

/** An event of a run with its one text: what is stored is what every reader gets. */
export const serialiseEvent = (
  run: EventOrigin,
  seq: number,
  type: string,
  payload: Readonly<Record<string, unknown>>,
  timestamp: string,
): StoredEvent => ({ seq, type, data: envelopeText(`${run.id}:${seq}`, run, type, payload, timestamp) })

/** The envelope of an event as JSON on one line. */
export function envelopeText(
  id: string,
  run: EventOrigin,
  type: string,
  payload: Readonly<Record<string, unknown>>,
  timestamp: string,
): string {
  const body = JSON.stringify(payload)
  let injected = `,"schema_version":${SCHEMA_VERSION}`
  if (payload.conversation_id === undefined) injected += `,"conversation_id":${quoted(run.conversationId)}`
  if (payload.step === undefined) injected += `,"step":${run.step}`
  const merged = body === '{}' ? `{${injected.slice(1)}}` : `${body.slice(0, -1)}${injected}}`
  const data = `{"id":"${id}","run_id":"${run.id}","type":"${type}","timestamp":"${timestamp}","payload":${merged}}`
  return SEPARATORS.test(data) ? escapeSeparators(data) : data
}

/** The four lines and the blank one that carry an event. */
export const frameOf = (id: string, { type, data }: Pick<StoredEvent, 'type' | 'data'>): string =>
  `id: ${id}\nretry: 3000\nevent: ${type}\ndata: ${data}\n\n`

/** Line and paragraph separators: line ends to some stream parsers; JSON may write them as escapes. */
const SEPARATORS = /[\u2028\u2029]/
const escapeSeparators = (json: string): string => json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')

const PLAIN = /^[\w.:-]*$/
const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))
