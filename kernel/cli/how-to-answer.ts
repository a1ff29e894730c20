import type { EventEnvelope } from '#contracts/event/envelope'
import { type ApprovalRequest, approvalSummary, optionsOf } from './ask/approval-prompt.js'
import { approvalRequestOf } from './ask/asker.js'
import { questionsIn, type RunQuestion } from './ask/question-prompt.js'
import { cut, plainLine } from './render/plain-text.js'

/** What to type to let a waiting run go on, and how to look at it afterwards. `where`: options that name the daemon. */
export function howToAnswer(runId: string, event: EventEnvelope, where: string): string {
  const ways = event.type === 'run.waiting_for_user' ? answering(runId, event, where) : approving(runId, event, where)
  return [
    'runwright: the run waits for a person and stays alive.',
    ...ways,
    `  then:     runwright attach ${runId} --after ${event.id}${where}`,
  ].join('\n')
}

function approving(runId: string, event: EventEnvelope, where: string): readonly string[] {
  const request = approvalRequestOf(event)
  const { tool, argumentsText } = request
  const shown = naming(request)
  return [
    `  asked:    ${cut(approvalSummary({ tool, argumentsText }), ASKED_CHARACTERS)}`,
    `  approve:  runwright approve ${runId}${shown}${where}`,
    ...optionsOf({ tool, argumentsText })
      .filter(({ id }) => isPlain(id))
      .map(
        ({ id, label }) =>
          `            runwright approve ${runId}${shown} --option ${shellQuoted(id)}${where}  # ${plainLine(label)}`,
      ),
    `  deny:     runwright deny ${runId}${shown}${where}`,
  ]
}

/** Options that keep an answer, however late it is typed, from counting for another question: call ids may come again. */
function naming({ callId, checkpointId = '' }: ApprovalRequest): string {
  if (isPlain(checkpointId) && checkpointId !== '') return ` --checkpoint ${shellQuoted(checkpointId)}`
  return isPlain(callId) && callId !== '' ? ` --call ${shellQuoted(callId)}` : ''
}

function answering(runId: string, event: EventEnvelope, where: string): readonly string[] {
  const { questions }: Readonly<Record<string, unknown>> = event.payload ?? {}
  const asked = questionsIn(questions)
  const words = asked.map((question, at) => shellQuoted(`${nameOf(question, at)}=${exampleOf(question)}`))
  return [
    ...asked.map(
      ({ question, options }) =>
        `  asked:    ${plainLine(question)} (${options.map(({ label }) => plainLine(label)).join(' | ')})`,
    ),
    `  answer:   runwright answer ${runId} ${words.join(' ')}${where}`,
  ]
}

const ASKED_CHARACTERS = 200
const MAX_NAME_CHARACTERS = 60

/** The question itself where that can be typed, else its number. */
const nameOf = ({ question }: RunQuestion, at: number): string =>
  isPlain(question) && question.length <= MAX_NAME_CHARACTERS ? question : `${at + 1}`

/** The first option, by its label where that can be typed. */
function exampleOf({ options: [first] }: RunQuestion): string {
  if (!first) return '<answer>'
  return isPlain(first.label) ? first.label : '1'
}

/** Can it be shown and copied without changing it? */
const isPlain = (text: string): boolean => plainLine(text) === text

const shellQuoted = (text: string): string => (/^[\w.:=/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
