import type { EventEnvelope } from '#contracts/event/envelope'
import type { ApiClient, ApiReply } from '../api-client.js'
import { explain } from '../complain.js'
import type { Terminal } from '../environment.js'
import { exitCodeOf } from '../exit-code.js'
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  approvalQuestion,
  approvalScreen,
  readApproval,
  shownOf,
} from './approval-prompt.js'
import { type LineReader, openLineReader } from './line-reader.js'
import { questionLine, questionScreen, questionsIn, readAnswer } from './question-prompt.js'

/** Asks the person at the terminal what a run wants to know, while the run is watched. */
export interface Asker {
  /** Asks, and returns at once; what was asked before is no longer asked. */
  open(event: EventEnvelope): void
  /** Takes the question back when this event shows that it is settled. */
  see(event: EventEnvelope): void
  /** Makes room for other text; call the result when that is written, and the question stands below it. */
  aside(): () => void
  /** Stops asking. */
  close(): void
}

export interface AskerOptions {
  readonly terminal: Terminal
  readonly api: ApiClient
  readonly runId: string
  /** The person has closed the input, or may not answer: somebody else has to. */
  onUnanswered(event: EventEnvelope): void
}

interface Session {
  readonly callId: string
  readonly signal: AbortSignal
  readonly stop: () => void
  readonly reader: LineReader
  /** The line that waits for an answer just now. */
  line: string | undefined
}

/**
 * Answers go through the routes, by the call that was shown, so that of all who answer one wins; being late is told and
 * otherwise harmless. Questions are written to stderr: stdout stays what the view makes of the run.
 */
export function createAsker({ terminal, api, runId, onUnanswered }: AskerOptions): Asker {
  let session: Session | undefined
  const say = (text: string): void => void terminal.stderr.write(text)

  function close(): void {
    if (!session) return
    if (session.line !== undefined) say('\n')
    session.stop()
    session.reader.close()
    session = undefined
  }

  async function nextLine(own: Session, line: string): Promise<string | undefined> {
    own.line = line
    say(line)
    const text = await own.reader.next(own.signal)
    if (!own.signal.aborted && text !== undefined) own.line = undefined
    return text
  }

  /** Undefined when there is no answer to be had. */
  async function askApproval(own: Session, request: ApprovalRequest): Promise<ApprovalAnswer | undefined> {
    say(approvalScreen(request, false))
    for (;;) {
      const line = await nextLine(own, approvalQuestion(request))
      if (line === undefined) return undefined
      const answer = readApproval(line, request)
      if (answer === 'view') say(approvalScreen(request, true))
      else if (answer) return answer
    }
  }

  async function askQuestions(own: Session, event: EventEnvelope): Promise<Record<string, string> | undefined> {
    const answers: [string, string][] = []
    for (const question of questionsIn(fields(event).questions)) {
      say(questionScreen(question))
      let answer: string | undefined
      while (answer === undefined) {
        const line = await nextLine(own, questionLine(question))
        if (line === undefined) return undefined
        answer = readAnswer(line, question, 'number')
      }
      answers.push([question.question, answer])
    }
    return Object.fromEntries(answers)
  }

  async function send(own: Session, event: EventEnvelope): Promise<ApiReply<unknown> | undefined> {
    const path = `/v1/runs/${encodeURIComponent(runId)}`
    if (event.type === 'run.waiting_for_user') {
      const answers = await askQuestions(own, event)
      if (!answers || own.signal.aborted) return undefined
      return api.request('POST', `${path}/input`, { body: { answers }, signal: own.signal })
    }
    const request = approvalRequestOf(event)
    const answer = await askApproval(own, request)
    if (!answer || own.signal.aborted) return undefined
    const { decision, ...rest } = answer
    const body = { ...shownOf(request), ...rest }
    return api.request('POST', `${path}/${decision}`, { body, signal: own.signal })
  }

  async function converse(own: Session, event: EventEnvelope): Promise<void> {
    // Nobody agrees to what they could not read yet.
    await own.reader.forget()
    if (own.signal.aborted) return
    for (;;) {
      const reply = await send(own, event)
      if (own.signal.aborted) return
      if (!reply || (reply.kind === 'refused' && (reply.status === 401 || reply.status === 403))) {
        if (reply) say(`runwright: ${explain(reply).join('\n  ')}\n`)
        close()
        return onUnanswered(event)
      }
      if (reply.kind === 'answered') return close()
      say(`runwright: ${explain(reply)[0]}\n`)
      // Somebody else was first, or the time is up: the stream tells how it went on.
      if (reply.kind === 'refused' && (reply.status === 404 || reply.status === 409)) return close()
    }
  }

  return {
    open(event) {
      close()
      const stop = new AbortController()
      const callId = asText(fields(event).call_id)
      const own: Session = {
        callId,
        signal: stop.signal,
        stop: () => stop.abort(),
        reader: openLineReader(terminal.stdin),
        line: undefined,
      }
      session = own
      void converse(own, event)
    },
    see(event) {
      const isSettled = SETTLES.has(event.type) && fields(event).call_id === session?.callId
      if (isSettled || exitCodeOf(event.type) !== undefined) close()
    },
    aside() {
      if (session?.line === undefined) return () => undefined
      const own = session
      say('\n')
      return () => {
        if (session === own && own.line !== undefined) say(own.line)
      }
    },
    close,
  }
}

/** The approval an event asks for. */
export function approvalRequestOf(event: EventEnvelope): ApprovalRequest {
  const { call_id, tool, arguments: argumentsText, checkpoint_id } = fields(event)
  return {
    callId: asText(call_id),
    tool: asText(tool),
    argumentsText: asText(argumentsText),
    ...(typeof checkpoint_id === 'string' && { checkpointId: checkpoint_id }),
  }
}

const SETTLES: ReadonlySet<string> = new Set([
  'tool.approval_granted',
  'tool.approval_denied',
  'run.resumed',
  'tool.call.completed',
])

const fields = (event: EventEnvelope): Readonly<Record<string, unknown>> => event.payload ?? {}
const asText = (value: unknown): string => (typeof value === 'string' ? value : '')
