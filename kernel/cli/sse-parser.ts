/** Takes text in pieces of any size and hands over the data of each complete frame, as the SSE standard reads it. */
export interface SseParser {
  /** Throws when a single frame grows beyond the limit. */
  feed(text: string): void
}

/**
 * Event names, ids and retry hints are left to the envelope inside the data; comments (pings) carry nothing. Line ends
 * may be CR, LF or both, and may fall between two pieces.
 */
export function createSseParser(onData: (data: string) => void, maxCharacters: number): SseParser {
  let rest = ''
  let isCarriageReturnOpen = false
  let held = 0
  let data: string[] = []

  function line(text: string): void {
    if (text === '') {
      if (data.length > 0) onData(data.join('\n'))
      data = []
      held = 0
      return
    }
    const field = /^data(?:: ?|$)/.exec(text)
    if (!field) return
    held += text.length
    data.push(text.slice(field[0].length))
  }

  return {
    feed(text) {
      // A long line in many pieces is only joined, not searched again from its start.
      if (!isCarriageReturnOpen && !/[\r\n]/.test(text)) rest += text
      else {
        // A CR at the very end may be half of a CR LF: it waits for the next piece.
        const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
        rest = lines.pop() ?? ''
        for (const entry of lines) line(entry)
        isCarriageReturnOpen = rest.endsWith('\r')
      }
      if (held + rest.length > maxCharacters) throw new Error(`an event is larger than ${maxCharacters} characters`)
    },
  }
}
