import { Type } from '@sinclair/typebox'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Answers } from './answers.js'
import { Question } from './question.js'

export const TOOL_NAME = 'AskUserQuestion'
/** Kind of the letter that carries answers. */
export const ANSWER = 'answer'
/** Its single-use key: of answers, resumed checkpoint and time-out, the first that is stored wins. */
export const answerKey = (step: number, callId: string): string => `${ANSWER}:${step}:${callId}`

/** What `GET /v1/runs/{id}/input` shows. */
export const PendingInput = Type.Object({
  run_id: Type.String(),
  call_id: Type.String(),
  tool: Type.Literal(TOOL_NAME),
  questions: Type.Array(Question),
  deadline_at: Type.String({ description: 'RFC 3339, UTC.' }),
})

/** A question of a run from when it is shown; kept as a note, so that a restart finds it, with its answers. */
export interface Asked {
  readonly call_id: string
  readonly step: number
  readonly questions: readonly Question[]
  readonly deadline_at: string
  readonly checkpoint_id?: string
  readonly answers?: Answers
}

const ASKED = 'questions.asked'
const ANSWERED_KEYS = 'questions.answered_keys'
const FAILURE = 'questions.failure'
const MAX_KEYS = 1000

/** The question a run asked last. */
export const askedBy = (run: ActiveRun): Asked | undefined => run.note(ASKED) as Asked | undefined

export const setAsked = (run: ActiveRun, asked: Asked): void => run.setNote(ASKED, asked)

const answeredKeys = (run: ActiveRun): readonly string[] => (run.note(ANSWERED_KEYS) as string[] | undefined) ?? []

/** Its key is used up: nobody could answer another question under it. */
export const wasAnswered = (run: ActiveRun, key: string): boolean => answeredKeys(run).includes(key)

export function setAnswered(run: ActiveRun, asked: Asked, answers: Answers): void {
  setAsked(run, { ...asked, answers })
  run.setNote(ANSWERED_KEYS, [...answeredKeys(run), answerKey(asked.step, asked.call_id)].slice(-MAX_KEYS))
}

/** Why the run is going to fail before its next step. */
export interface QuestionFailure {
  readonly error: string
  readonly reason: string
}

export const failureOf = (run: ActiveRun): QuestionFailure | undefined =>
  run.note(FAILURE) as QuestionFailure | undefined

export const setFailure = (run: ActiveRun, failure: QuestionFailure): void => run.setNote(FAILURE, failure)
