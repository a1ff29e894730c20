import { StringDecoder } from 'node:string_decoder'

/** Lines a person types. */
export interface LineReader {
  /** Forgets what was typed until now. Resolves when nothing of it is on its way any more. */
  forget(): Promise<void>
  /** The next line; undefined when the input is at its end or the signal fires. */
  next(signal: AbortSignal): Promise<string | undefined>
  /** Stops reading. What was typed ahead and not asked for is forgotten: it answers no later question. */
  close(): void
}

const MAX_LINE_CHARACTERS = 16_384
const MAX_LINES = 100
/** What a terminal holds is read within a turn or two of the event loop. */
const QUIET_TURNS = 4
const MAX_TURNS = 100

/** Reads only between here and `close`: a program in the background that asks nothing never touches the keyboard. */
export function openLineReader(stdin: NodeJS.ReadableStream): LineReader {
  const decoder = new StringDecoder('utf8')
  const lines: string[] = []
  let rest = ''
  let isEnded = (stdin as { readonly readableEnded?: boolean }).readableEnded === true || !stdin.readable
  let wake: (() => void) | undefined

  const onData = (chunk: Buffer | string): void => {
    const pieces = (rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk))).split('\n')
    rest = (pieces.pop() ?? '').slice(0, MAX_LINE_CHARACTERS)
    if (lines.length < MAX_LINES)
      lines.push(...pieces.slice(0, MAX_LINES).map(line => line.slice(0, MAX_LINE_CHARACTERS).replace(/\r$/, '')))
    wake?.()
  }
  // Half a line at the end is no answer: nobody pressed return.
  const onEnd = (): void => {
    isEnded = true
    wake?.()
  }
  stdin.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onEnd)
  if (!isEnded) stdin.resume()

  return {
    async forget() {
      for (let quiet = 0, turn = 0; quiet < QUIET_TURNS && turn < MAX_TURNS && !isEnded; turn++) {
        await new Promise(resolve => setImmediate(resolve))
        quiet = lines.length === 0 && rest === '' ? quiet + 1 : 0
        lines.length = 0
        rest = ''
      }
    },
    async next(signal) {
      for (;;) {
        if (signal.aborted) return undefined
        const line = lines.shift()
        if (line !== undefined || isEnded) return line
        await new Promise<void>(resolve => {
          wake = resolve
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
    },
    close() {
      stdin.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', onEnd)
      if (!isEnded) stdin.pause()
    },
  }
}
