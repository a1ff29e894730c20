import type { ApiReply } from '../api-client.js'
import { complain } from '../complain.js'
import type { Terminal } from '../environment.js'
import { EXIT } from '../exit-code.js'

/** Shows what a daemon answered: as it came with `isJson`, else by `show`. A refusal goes to stderr. The exit code. */
export function tellReply<T>(
  terminal: Terminal,
  reply: ApiReply<T>,
  isJson: boolean | undefined,
  show: (body: T) => string,
): number {
  if (reply.kind !== 'answered') return complain(terminal, reply)
  terminal.stdout.write(isJson ? `${JSON.stringify(reply.body, undefined, 2)}\n` : show(reply.body))
  return EXIT.completed
}
