import type { EventEnvelope } from '#contracts/event/envelope'
import { plainText } from './plain-text.js'

/** Shows the events of one run. What it returns is written to stdout, in order. */
export interface RunView {
  event(event: EventEnvelope, data: string): string
  /** A remark about the connection, for stderr; the view may have to end a half-written line on stdout first. */
  interrupted(): string
}

/** One envelope per line, as it came, and nothing else. */
export const jsonView = (): RunView => ({ event: (_event, data) => `${data}\n`, interrupted: () => '' })

/** The final answer and nothing else: to the byte for a file or pipe, made harmless for a terminal. */
export const quietView = (isTty: boolean): RunView => ({
  event: ({ type, payload }) => {
    const { output }: Readonly<Record<string, unknown>> = payload ?? {}
    if (type !== 'run.completed' || typeof output !== 'string' || output === '') return ''
    return `${(isTty ? plainText(output) : output).replace(/\n$/, '')}\n`
  },
  interrupted: () => '',
})
