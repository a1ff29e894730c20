import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '#contracts/errors'
import type { ModelClient, ModelOutcome, ModelRequest, ModelSink } from '#contracts/model/client'
import { EXHAUSTED, scriptOf } from './script.js'
import type { FakeTurn } from './turn.js'

/** Which turn comes next; shared by all runs, and by generations of the plugin. */
export interface TurnCursor {
  next: number
}

/** Answers with the turns of a file, one per call in order of calls, whatever is asked. Then with nothing. */
export class FakeClient implements ModelClient {
  readonly provider = 'fake'

  constructor(
    private readonly turns: readonly FakeTurn[],
    private readonly cursor: TurnCursor,
  ) {}

  async answer(_: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome> {
    if (signal.aborted) return CANCELLED
    const serial = this.cursor.next++
    const turn = this.turns[serial]
    if (turn === undefined) return EXHAUSTED.ending
    try {
      return await play(turn, serial, sink, signal)
    } catch (error) {
      return signal.aborted ? CANCELLED : failed('other', messageOf(error))
    }
  }
}

const failed = (category: 'cancelled' | 'other', message: string): ModelOutcome =>
  Object.freeze({ kind: 'failed', failure: Object.freeze({ category, message }) })

const CANCELLED = failed('cancelled', 'the turn was cancelled')

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
  return signal.aborted ? CANCELLED : ending
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
