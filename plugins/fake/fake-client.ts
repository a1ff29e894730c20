import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '#contracts/errors'
import type { ModelOutcome, ModelRequest, ModelSink } from '#contracts/model/client'
import type { FetchedModels, ModelConnection } from '#contracts/model/provider'
import { EXHAUSTED, scriptOf } from './script.js'
import type { FakeTurn } from './turn.js'

/** Which turn comes next; shared by all runs, by every client of these turns, and by generations of the plugin. */
export interface TurnCursor {
  next: number
}

/** Answers with the turns of a file, one per call in order of calls, whatever is asked. Then with nothing. */
export class FakeClient implements ModelConnection {
  private readonly underWay = new Set<AbortController>()
  private isClosed = false

  constructor(
    private readonly turns: readonly FakeTurn[],
    private readonly cursor: TurnCursor,
    readonly provider = 'fake',
  ) {}

  async answer(_: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome> {
    if (signal.aborted) return CANCELLED
    if (this.isClosed) return CLOSED
    const serial = this.cursor.next++
    const turn = this.turns[serial]
    if (turn === undefined) return EXHAUSTED.ending
    const stop = new AbortController()
    const onAbort = () => stop.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    this.underWay.add(stop)
    try {
      const outcome = await play(turn, serial, sink, stop.signal)
      return stop.signal.aborted ? this.stopped(signal) : outcome
    } catch (error) {
      return stop.signal.aborted ? this.stopped(signal) : failed('other', messageOf(error))
    } finally {
      this.underWay.delete(stop)
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** It has no models of its own: it takes any name. */
  async fetchModels(signal: AbortSignal): Promise<FetchedModels> {
    if (signal.aborted) return CANCELLED
    return this.isClosed ? CLOSED : { kind: 'listed', body: { object: 'list', data: [] } }
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const stop of this.underWay) stop.abort()
  }

  private stopped(signal: AbortSignal): ModelOutcome {
    return signal.aborted ? CANCELLED : CLOSED
  }
}

const failed = (category: 'cancelled' | 'other', message: string) =>
  Object.freeze({ kind: 'failed' as const, failure: Object.freeze({ category, message }) })

const CANCELLED = failed('cancelled', 'the turn was cancelled')
const CLOSED = failed('other', 'the fake provider is closed')

async function play(turn: FakeTurn, serial: number, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome> {
  const { parts, ending } = scriptOf(turn, serial)
  if (turn.delay_ms) await wait(turn.delay_ms, undefined, { signal })
  for (const [index, part] of parts.entries()) {
    if (index > 0 && turn.delta_delay_ms) await wait(turn.delta_delay_ms, undefined, { signal })
    sink.part(part)
    await untilDrained(sink, signal)
    if (signal.aborted) return CANCELLED
  }
  if (turn.hang && !signal.aborted) await once(signal, 'abort')
  return ending
}

/** The log may stay behind for as long as it likes, but not beyond the end of the turn. */
async function untilDrained(sink: ModelSink, signal: AbortSignal): Promise<void> {
  const drained = sink.drained()
  if (drained === undefined || signal.aborted) return
  const done = new AbortController()
  try {
    await Promise.race([drained, once(signal, 'abort', { signal: done.signal })])
  } finally {
    done.abort()
  }
}
