import { complain } from '../complain.js'
import type { Terminal } from '../environment.js'
import { type ConnectionOptions, connect } from '../options.js'
import { plainLine } from '../render/plain-text.js'
import { readPrompt } from '../run/read-prompt.js'
import { tellReply } from './tell-reply.js'

export interface TellOptions extends ConnectionOptions {
  readonly json?: boolean
}

export interface DecideOptions extends TellOptions {
  readonly call?: string
  readonly checkpoint?: string
  readonly option?: string
  readonly message?: string
}

/** Approves or denies the call a run waits with. Resolves with the exit code. */
export async function decide(
  terminal: Terminal,
  runId: string,
  decision: 'approve' | 'deny',
  { call, checkpoint, option, message, ...options }: DecideOptions,
): Promise<number> {
  const body = {
    ...(call !== undefined && { call_id: call }),
    ...(checkpoint !== undefined && { checkpoint_id: checkpoint }),
    ...(option !== undefined && { option }),
    ...(message !== undefined && { message }),
  }
  return tell(terminal, runId, decision, body, options)
}

/** Says something to a run in flight; `-` reads it from stdin. Resolves with the exit code. */
export async function steer(terminal: Terminal, runId: string, text: string, options: TellOptions): Promise<number> {
  const prompt = text === '-' ? await readPrompt(terminal.stdin) : text
  if (prompt === undefined) return complain(terminal, 'the text on stdin is larger than 1 MiB')
  if (prompt.trim() === '') return complain(terminal, 'the text is empty')
  return tell(terminal, runId, 'steer', { prompt }, options)
}

async function tell(terminal: Terminal, runId: string, what: string, body: object, options: TellOptions) {
  const path = `/v1/runs/${encodeURIComponent(runId)}/${what}`
  const reply = await connect(terminal, options).request<{ readonly status: string }>('POST', path, { body })
  return tellReply(terminal, reply, options.json, ({ status }) => `${plainLine(status)}\n`)
}
