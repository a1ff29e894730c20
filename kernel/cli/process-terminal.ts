import type { Terminal } from './environment.js'

/** The streams and signals of this very process, with what the entry took from its environment. */
export function processTerminal(values: Pick<Terminal, 'isColourOff' | 'baseUrl' | 'token'>): Terminal {
  const { stdin, stdout, stderr } = process
  return {
    ...values,
    stdin,
    stdout,
    stderr,
    isTty: { stdin: stdin.isTTY === true, stdout: stdout.isTTY === true },
    ...(stdout.columns > 0 ? { columns: stdout.columns } : {}),
    cwd: process.cwd(),
    onInterrupt(handler) {
      process.on('SIGINT', handler)
      process.on('SIGTERM', handler)
      return () => {
        process.off('SIGINT', handler)
        process.off('SIGTERM', handler)
      }
    },
  }
}
