import type { EventEnvelope } from '#contracts/event/envelope'
import type { ApiClient } from './api-client.js'
import { approveShown } from './ask/approve-shown.js'
import { createAsker } from './ask/asker.js'
import { complain } from './complain.js'
import type { Terminal } from './environment.js'
import { followRun } from './event-stream.js'
import { EXIT, exitCodeOf } from './exit-code.js'
import { howToAnswer } from './how-to-answer.js'
import { whereOf } from './options.js'
import { createOutput } from './output.js'
import { isStillPending, isWaiting } from './pending-call.js'
import { plainLine } from './render/plain-text.js'
import type { RunView } from './render/run-view.js'

export interface WatchOptions {
  readonly after?: string | undefined
  /** What an interrupt does to the run: `run` cancels what it started, `attach` only stops looking. */
  readonly onInterrupt: 'cancel' | 'detach'
  /** Approve every call that waits for approval, without asking. */
  readonly approveAll?: boolean | undefined
}

/** How long the end of a cancelled run is waited for before leaving. */
const CANCEL_GRACE_MS = 10_000

/** Shows a run until it ends, waits for somebody who is not here, or is interrupted; resolves with the exit code. */
export async function watchRun(
  terminal: Terminal,
  api: ApiClient,
  runId: string,
  view: RunView,
  { after, onInterrupt, approveAll = false }: WatchOptions,
): Promise<number> {
  const leave = new AbortController()
  const interruption = interruptible(terminal, api, runId, onInterrupt, leave, view)
  const where = whereOf(terminal, api)
  const output = createOutput(terminal.stdout)
  const note = (text: string) => terminal.stderr.write(`${text}\n`)
  let isBlocked = false
  /** Nobody here answers: the run is left alive, and whoever does is told how. */
  const giveUp = (event: EventEnvelope) => {
    isBlocked = true
    note(howToAnswer(runId, event, where))
    leave.abort()
  }
  const asker = createAsker({ terminal, api, runId, onUnanswered: giveUp })
  /** Says something about the connection, on lines of its own. */
  const aside = async (text: string): Promise<void> => {
    const askAgain = asker.aside()
    await output.write(view.interrupted())
    note(text)
    askAgain()
  }
  const answer = async (event: EventEnvelope): Promise<void> => {
    if (!(await isStillPending(api, runId, event))) return
    if (approveAll && event.type === 'tool.approval_required') {
      if (!(await approveShown(terminal, api, runId, event, leave.signal))) giveUp(event)
    } else if (terminal.isTty.stdin) asker.open(event)
    else giveUp(event)
  }
  try {
    const options = {
      signal: leave.signal,
      after,
      // What was started here is there; what somebody names may be nowhere.
      mustAnswerFirst: onInterrupt === 'detach',
      ...(terminal.reconnect && { policy: terminal.reconnect }),
    }
    let isLost = false
    for await (const item of followRun(api, runId, options)) {
      if (item.kind === 'event') {
        asker.see(item.event)
        const text = view.event(item.event, item.data)
        const askAgain = text === '' ? undefined : asker.aside()
        if (!(await output.write(text))) return EXIT.problem
        askAgain?.()
        const code = exitCodeOf(item.event.type)
        if (code !== undefined) return interruption.isRequested() ? EXIT.interrupted : code
        if (isWaiting(item.event)) await answer(item.event)
        if (isBlocked) return EXIT.blocked
      } else if (item.kind === 'broken') {
        // Said once per outage: the attempts in between tell a person nothing new.
        if (!isLost) await aside(`runwright: lost the stream (${plainLine(item.because)}); reconnecting`)
        isLost = true
      } else if (item.kind === 'restored') {
        if (isLost) await aside('runwright: connected again')
        isLost = false
      } else if (item.kind === 'ended') return await outcomeOf(terminal, api, runId)
      else {
        await output.write(view.interrupted())
        if (interruption.isRequested()) return EXIT.interrupted
        const code = complain(terminal, item.problem)
        if (item.problem.kind === 'unreachable' && (isLost || onInterrupt === 'cancel'))
          note(`  The run may go on without us. Look again: ${attachLine(runId, item.lastEventId, where)}`)
        return code
      }
    }
    return isBlocked ? EXIT.blocked : EXIT.interrupted
  } finally {
    asker.close()
    interruption.release()
    leave.abort()
    output.release()
  }
}

/** The exit code of a run whose end was seen before, by its record. */
async function outcomeOf(terminal: Terminal, api: ApiClient, runId: string): Promise<number> {
  const run = await api.request<{ readonly status: string }>('GET', `/v1/runs/${encodeURIComponent(runId)}`)
  if (run.kind !== 'answered') return complain(terminal, run)
  terminal.stderr.write(`runwright: no more events follow; the run is ${plainLine(run.body.status)}\n`)
  return exitCodeOf(`run.${run.body.status}`) ?? EXIT.problem
}

/** The command that goes on where this one stopped. */
const attachLine = (runId: string, lastEventId: string | undefined, where: string): string =>
  `runwright attach ${runId}${lastEventId === undefined ? '' : ` --after ${lastEventId}`}${where}`

/** First interrupt: ask the daemon to cancel and wait for the end; second: leave at once. */
function interruptible(
  terminal: Terminal,
  api: ApiClient,
  runId: string,
  mode: WatchOptions['onInterrupt'],
  leave: AbortController,
  view: RunView,
) {
  let count = 0
  let grace: NodeJS.Timeout | undefined
  const undo = terminal.onInterrupt(() => {
    count += 1
    if (count > 1 || mode === 'detach') {
      if (mode === 'detach')
        terminal.stderr.write(
          `\nrunwright: the run goes on. Look again: ${attachLine(runId, undefined, whereOf(terminal, api))}\n`,
        )
      return leave.abort()
    }
    terminal.stdout.write(view.interrupted())
    terminal.stderr.write('\nrunwright: cancelling the run (interrupt again to leave at once)\n')
    grace = setTimeout(() => leave.abort(), CANCEL_GRACE_MS)
    void api.request('POST', `/v1/runs/${encodeURIComponent(runId)}/cancel`, { signal: leave.signal }).then(reply => {
      if (reply.kind === 'answered' || leave.signal.aborted) return
      complain(terminal, reply)
      leave.abort()
    })
  })
  return {
    isRequested: () => count > 0 && mode === 'cancel',
    release: () => {
      clearTimeout(grace)
      undo()
    },
  }
}
