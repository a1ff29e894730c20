import { randomUUID } from 'node:crypto'
import type { ApiClient, ApiReply } from '../api-client.js'
import { complain } from '../complain.js'
import type { Terminal } from '../environment.js'
import { EXIT } from '../exit-code.js'
import { type ConnectionOptions, connect } from '../options.js'
import { chooseView } from '../render/choose-view.js'
import { watchRun } from '../watch-run.js'
import { readPrompt } from './read-prompt.js'
import { type RunOptions, requestOf, type ViewOptions } from './run-options.js'

interface Started {
  readonly run_id: string
}

/** What is common to all commands that start a run. */
export interface StartOptions extends ConnectionOptions, ViewOptions {
  /** False: print the id of the run and leave. */
  readonly stream?: boolean
}

/** Starts a run and shows it to its end; resolves with the exit code. */
export const startAndWatch = (terminal: Terminal, prompt: string, options: RunOptions): Promise<number> =>
  beginAndWatch(terminal, prompt, options, (api, text, signal) =>
    start(api, requestOf(text, options, terminal.cwd), options.idempotencyKey ?? randomUUID(), signal),
  )

/** The same for a run that continues a completed one. */
export const continueAndWatch = (
  terminal: Terminal,
  runId: string,
  prompt: string,
  options: StartOptions,
): Promise<number> =>
  beginAndWatch(terminal, prompt, options, (api, text, signal) =>
    api.request<Started>('POST', `/v1/runs/${encodeURIComponent(runId)}/continue`, { body: { prompt: text }, signal }),
  )

async function beginAndWatch(
  terminal: Terminal,
  prompt: string,
  options: StartOptions,
  begin: (api: ApiClient, text: string, signal: AbortSignal) => Promise<ApiReply<Started>>,
): Promise<number> {
  if (options.json && options.quiet) return complain(terminal, 'give --json or --quiet, not both')
  if (options.approveAll && options.stream === false)
    return complain(terminal, 'give --approve-all or --no-stream, not both: what is not watched cannot be approved')
  const text = prompt === '-' ? await readPrompt(terminal.stdin) : prompt
  if (text === undefined) return complain(terminal, 'the prompt on stdin is larger than 1 MiB')
  if (text.trim() === '') return complain(terminal, 'the prompt is empty')
  const api = connect(terminal, options)
  let interrupts = 0
  const leave = new AbortController()
  const undo = terminal.onInterrupt(() => {
    interrupts += 1
    if (interrupts > 1) leave.abort()
  })
  let reply: ApiReply<Started>
  try {
    reply = await begin(api, text, leave.signal)
  } finally {
    undo()
  }
  if (leave.signal.aborted) return EXIT.interrupted
  if (reply.kind !== 'answered') return complain(terminal, reply)
  const runId = reply.body.run_id
  if (interrupts > 0) {
    // Interrupted before the id was known: the run exists now, and nobody wants it.
    await api.request('POST', `/v1/runs/${encodeURIComponent(runId)}/cancel`)
    return EXIT.interrupted
  }
  if (options.stream === false) {
    terminal.stdout.write(options.json ? `${JSON.stringify(reply.body, undefined, 2)}\n` : `${runId}\n`)
    return EXIT.completed
  }
  const { approveAll } = options
  return watchRun(terminal, api, runId, chooseView(terminal, options), { onInterrupt: 'cancel', approveAll })
}

const MAX_ATTEMPTS = 3

/** A broken connection says nothing about whether the run was started; the key makes asking again harmless. */
async function start(api: ApiClient, body: object, key: string, signal: AbortSignal): Promise<ApiReply<Started>> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await api.request<Started>('POST', '/v1/runs', { body, headers: { 'idempotency-key': key }, signal })
    const isBroken = reply.kind === 'unreachable' && /ECONNRESET|socket hang up|EPIPE/.test(reply.because)
    if (!isBroken || attempt === MAX_ATTEMPTS || signal.aborted) return reply
  }
}
