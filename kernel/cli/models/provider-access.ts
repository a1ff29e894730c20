import { complain } from '../complain.js'
import { tellReply } from '../control/tell-reply.js'
import type { Terminal } from '../environment.js'
import { type ConnectionOptions, connect } from '../options.js'
import { readPrompt } from '../run/read-prompt.js'

/** Hands a running daemon the key it reads from stdin. Resolves with the exit code. */
export async function setProviderKey(terminal: Terminal, name: string, options: ConnectionOptions): Promise<number> {
  if (terminal.isTty.stdin)
    return complain(
      terminal,
      `give the key on stdin, so that no history keeps it: runwright providers key ${name} < key.txt`,
    )
  const key = (await readPrompt(terminal.stdin))?.trim() ?? ''
  if (key === '') return complain(terminal, 'stdin holds no key')
  const path = `/v1/providers/${encodeURIComponent(name)}/key`
  const reply = await connect(terminal, options).request('PUT', path, { body: { key } })
  return tellReply(terminal, reply, false, () => `${name} has its key\n`)
}

/** Has a running daemon take over the session of a vendor's own command line. Resolves with the exit code. */
export async function importSubscription(
  terminal: Terminal,
  name: string,
  options: ConnectionOptions,
): Promise<number> {
  const path = `/v1/providers/${encodeURIComponent(name)}/import-subscription`
  const reply = await connect(terminal, options).request('POST', path)
  return tellReply(terminal, reply, false, () => `${name} uses the imported session\n`)
}
