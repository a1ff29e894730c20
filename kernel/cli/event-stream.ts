import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '#contracts/errors'
import type { EventEnvelope } from '#contracts/event/envelope'
import type { ApiClient, ApiProblem } from './api-client.js'
import { sequenceOf } from './event-id.js'
import { createSseParser } from './sse-parser.js'

/** How long to keep trying for a daemon that went away. */
export interface ReconnectPolicy {
  readonly firstMs: number
  readonly maxMs: number
  /** Without a single event or successful connection for this long, the stream is given up. */
  readonly giveUpMs: number
}

export const DEFAULT_RECONNECT: ReconnectPolicy = Object.freeze({ firstMs: 250, maxMs: 5000, giveUpMs: 60_000 })

export type StreamItem =
  /** `data` is the envelope as it came, on one line. */
  | { readonly kind: 'event'; readonly event: EventEnvelope; readonly data: string }
  /** The connection broke; the next one is tried after `waitMs`. */
  | { readonly kind: 'broken'; readonly because: string; readonly waitMs: number }
  | { readonly kind: 'restored' }
  /** The last item: the run is over, and what it showed last was seen before. */
  | { readonly kind: 'ended' }
  /** The last item: the daemon is gone or refuses to go on. */
  | { readonly kind: 'given_up'; readonly problem: ApiProblem; readonly lastEventId: string | undefined }

/** Pings come every 15 s by default; a connection silent for longer than this is taken for dead. */
const SILENCE_MS = 120_000
/** Tells an event source not to come back. */
const NOTHING_FOLLOWS = 204
const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024

/**
 * The events of a run from after `after` on, each once and in order, over as many connections as it takes. Ends when the
 * reader stops, the signal fires, or with `ended` or `given_up`. Stopping at the terminal event is the reader's business.
 * `mustAnswerFirst`: where nobody answers at the first try, no other follows.
 */
export async function* followRun(
  api: ApiClient,
  runId: string,
  options: {
    readonly after?: string | undefined
    readonly signal: AbortSignal
    readonly policy?: ReconnectPolicy
    readonly mustAnswerFirst?: boolean
  },
): AsyncGenerator<StreamItem> {
  const { signal, policy = DEFAULT_RECONNECT } = options
  let isPatient = options.mustAnswerFirst !== true
  let lastEventId = options.after
  let lastSeq = sequenceOf(options.after, runId) ?? -1
  let waitMs = policy.firstMs
  let lostSince: number | undefined

  while (!signal.aborted) {
    const headers = lastEventId === undefined ? undefined : { 'last-event-id': lastEventId }
    const reply = await api.open(`/v1/runs/${encodeURIComponent(runId)}/events`, {
      signal,
      ...(headers && { headers }),
    })
    if (signal.aborted) return
    let problem: ApiProblem = { kind: 'unreachable', baseUrl: api.baseUrl, because: 'the daemon closed the stream' }
    if (reply.kind === 'answered' && reply.status === NOTHING_FOLLOWS) {
      reply.body.resume()
      return yield { kind: 'ended' }
    }
    if (reply.kind === 'answered') {
      if (lostSince !== undefined) yield { kind: 'restored' }
      isPatient = true
      const connectedAt = performance.now()
      for await (const piece of readEvents(reply.body)) {
        if ('because' in piece) {
          problem = { ...problem, because: piece.because }
          break
        }
        const seq = sequenceOf(piece.event.id, runId)
        if (seq !== undefined && seq <= lastSeq) continue
        if (seq !== undefined) lastSeq = seq
        lastEventId = piece.event.id
        lostSince = undefined
        waitMs = policy.firstMs
        yield { kind: 'event', ...piece }
      }
      // A run may be silent for hours: a connection that held counts as the daemon being there.
      if (performance.now() - connectedAt > policy.maxMs) lostSince = undefined
    } else {
      problem = reply
      if (!isPassing(reply) || (!isPatient && reply.kind === 'unreachable'))
        return yield { kind: 'given_up', problem, lastEventId }
    }
    if (signal.aborted) return
    const now = performance.now()
    lostSince ??= now
    if (now - lostSince >= policy.giveUpMs) return yield { kind: 'given_up', problem, lastEventId }
    const asked = problem.kind === 'refused' ? (problem.retryAfterMs ?? 0) : 0
    const pause = Math.min(Math.max(waitMs, asked), policy.giveUpMs)
    yield { kind: 'broken', because: problem.kind === 'refused' ? problem.message : problem.because, waitMs: pause }
    waitMs = Math.min(waitMs * 2, policy.maxMs)
    await delay(pause, undefined, { signal }).catch(() => undefined)
  }
}

/** True when the same request may succeed later. */
const isPassing = (problem: ApiProblem): boolean =>
  problem.kind === 'unreachable' || problem.status === 429 || problem.status === 408 || problem.status >= 502

type Piece = { readonly event: EventEnvelope; readonly data: string } | { readonly because: string }

/** The frames of one connection. A connection that breaks ends with the reason; one that closes just ends. */
async function* readEvents(stream: IncomingMessage): AsyncGenerator<Piece> {
  const ready: Piece[] = []
  const parser = createSseParser(data => {
    const event = envelopeOf(data)
    if (event) ready.push({ event, data: data.includes('\n') ? JSON.stringify(event) : data })
  }, MAX_EVENT_CHARACTERS)
  const decoder = new TextDecoder()
  stream.setTimeout(SILENCE_MS, () => stream.destroy(new Error('the stream fell silent')))
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      parser.feed(decoder.decode(chunk, { stream: true }))
      yield* ready.splice(0)
    }
  } catch (error) {
    yield { because: reasonOf(error) }
  } finally {
    stream.destroy()
  }
}

function envelopeOf(data: string): EventEnvelope | undefined {
  try {
    const value = JSON.parse(data) as Partial<EventEnvelope> | null
    return typeof value?.id === 'string' && typeof value.type === 'string' ? (value as EventEnvelope) : undefined
  } catch {
    return undefined
  }
}

/** Node calls a connection that was cut `aborted`, which reads as if somebody here had wanted it. */
function reasonOf(error: unknown): string {
  const message = messageOf(error)
  return message === 'aborted' ? 'the connection was cut' : message
}
