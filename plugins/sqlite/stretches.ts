import { Failure } from '#contracts/errors'
import type { StoredEvent } from '#contracts/event/envelope'
import { MAX_STRETCH, type Value } from './protocol.js'

const MAX_STRETCH_CHARACTERS = 64 * 1024

/**
 * Events as arguments: `[stretches, (count, types, lines)…]`, a bounded stretch per row. `first` is -1 without events.
 * Refuses numbers with a hole between them and text that would not read back.
 */
export function stretchArguments(runId: string, events: readonly StoredEvent[]) {
  const first = events[0]?.seq ?? -1
  const values: Value[] = [0]
  let stretches = 0
  let [types, lines, count] = ['', '', 0]
  const close = () => {
    values.push(count, types, lines)
    stretches += 1
  }
  for (let index = 0; index < events.length; index += 1) {
    const { seq, type, data } = events[index] as StoredEvent
    if (seq !== first + index) throw new Failure('conflict', `event ${seq} of ${runId} leaves a hole or is there twice`)
    if (data.includes('\n') || type.includes('\n'))
      throw new Failure('internal_error', `event ${seq} of ${runId} is not on one line`)
    if (count === MAX_STRETCH || (count > 0 && lines.length + data.length > MAX_STRETCH_CHARACTERS)) {
      close()
      count = 0
    }
    types = count === 0 ? type : `${types}\n${type}`
    lines = count === 0 ? data : `${lines}\n${data}`
    count += 1
  }
  if (count > 0) close()
  values[0] = stretches
  return { first, values }
}

/** A stored stretch as events again. */
export function stretchEvents(first: number, types: string, lines: string): StoredEvent[] {
  const typeOf = types.split('\n')
  return lines.split('\n').map((data, index) => ({ seq: first + index, type: typeOf[index] ?? '', data }))
}
