import { isDeepStrictEqual } from 'node:util'
import type { Checkpoint, Checkpoints } from '#contracts/checkpoint'
import { messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'
import { defineTool, type ToolContext, type ToolResult } from '#contracts/tool/tool'
import { type Answers, answersIn, authorIn, payloadIn } from './answers.js'
import {
  ANSWER,
  type Asked,
  answerKey,
  askedBy,
  setAnswered,
  setAsked,
  setFailure,
  TOOL_NAME,
  wasAnswered,
} from './pending.js'
import { problemOf, type Question, Questions, shownQuestion } from './question.js'

export interface AskDeps {
  readonly timeoutSeconds: number
  /** The store's clock: deadlines are its milliseconds. */
  readonly now: () => number
  readonly checkpoints: Checkpoints | undefined
  readonly log: PluginLog
}

/** Parks the run until somebody answers, the deadline passes, or the run is cancelled. */
export const askTool = (deps: AskDeps) =>
  defineTool({
    name: TOOL_NAME,
    description:
      'Ask the person behind this task one to four questions, each with two to four options, and wait for the answers. ' +
      'Ask only what you cannot find out yourself and what changes what you do next.',
    parameters: Questions,
    action: 'read',
    isParallelSafe: false,
    execute: ({ questions }, context) => ask(questions, context, deps),
  })

async function ask(questions: readonly Question[], { run, callId }: ToolContext, deps: AskDeps): Promise<ToolResult> {
  const problem = problemOf(questions)
  if (problem) return { error: problem }
  const key = answerKey(run.step, callId)
  const last = askedBy(run)
  const isAgain = last?.call_id === callId && last.step === run.step && isDeepStrictEqual(last.questions, questions)
  // Answered, or at least shown, by a former process.
  const again = isAgain ? last : undefined
  if (again?.answers) {
    await settle(deps, run.tenantId, again, 'resumed', JSON.stringify({ answers: again.answers }))
    return answered(again, again.answers)
  }
  if (wasAnswered(run, key)) return REUSED_ID
  if (!again && run.policy.unattended === 'deny') return NOBODY_THERE
  if (!again && run.policy.unattended === 'fail') {
    const error = 'the run asked a question, and permissions.unattended says that nobody is there to answer'
    setFailure(run, { error, reason: 'unattended_question' })
    return { error }
  }
  const asked = again ?? (await prepared(questions, { run, callId }, deps))
  const late = `nobody answered the question within ${deps.timeoutSeconds} seconds (until ${asked.deadline_at})`
  const outcome = await run.wait({
    status: 'waiting_for_user',
    kind: ANSWER,
    key,
    deadlineAt: Date.parse(asked.deadline_at),
    announce() {
      setAsked(run, asked)
      run.emit('run.waiting_for_user', {
        call_id: callId,
        tool: TOOL_NAME,
        questions: questions.map(shownQuestion),
        deadline_at: asked.deadline_at,
      })
    },
    conclude(concluded) {
      if (concluded.kind === 'timed_out') return setFailure(run, { error: late, reason: 'ask_user_timeout' })
      const { body } = concluded.letter
      const by = authorIn(body)
      setAnswered(run, asked, answersIn(body, questions))
      run.emit('run.resumed', {
        call_id: callId,
        tool: TOOL_NAME,
        answered_at: new Date(deps.now()).toISOString(),
        ...(by && { answered_by: by }),
      })
    },
  })
  if (outcome.kind === 'timed_out') {
    await settle(deps, run.tenantId, asked, 'expired')
    return { error: late }
  }
  const { body } = outcome.letter
  const answers = answersIn(body, questions)
  await settle(deps, run.tenantId, asked, 'resumed', JSON.stringify(payloadIn(body, answers)))
  return answered(asked, answers)
}

/** The question with its deadline; where there are checkpoints, with the deadline its checkpoint was first opened with. */
async function prepared(
  questions: readonly Question[],
  { run, callId }: Pick<ToolContext, 'run' | 'callId'>,
  { checkpoints, log, now, timeoutSeconds }: AskDeps,
): Promise<Asked> {
  const deadline = new Date(now() + timeoutSeconds * 1000).toISOString()
  const checkpoint = await checkpoints
    ?.open(run.tenantId, {
      kind: 'user_input',
      run_id: run.id,
      call_id: callId,
      tool: TOOL_NAME,
      questions: JSON.stringify(questions.map(shownQuestion)),
      deadline_at: deadline,
      letter: { kind: ANSWER, key: answerKey(run.step, callId) },
    })
    .catch((error: unknown): undefined => {
      log.warn({ run: run.id, error: messageOf(error) }, 'a question has no checkpoint')
    })
  return {
    call_id: callId,
    step: run.step,
    questions,
    deadline_at: checkpoint?.deadline_at ?? deadline,
    ...(checkpoint && { checkpoint_id: checkpoint.id }),
  }
}

/** Closes the checkpoint of a question, where there is one; the run does not depend on it. */
export async function settle(
  { checkpoints, log }: Pick<AskDeps, 'checkpoints' | 'log'>,
  tenantId: string,
  asked: Asked,
  status: Extract<Checkpoint['status'], 'resumed' | 'expired'>,
  payload?: string,
): Promise<void> {
  if (!checkpoints || asked.checkpoint_id === undefined) return
  await checkpoints.settle(tenantId, asked.checkpoint_id, status, payload).catch((error: unknown) => {
    log.warn({ checkpoint: asked.checkpoint_id, error: messageOf(error) }, 'a checkpoint was not settled')
  })
}

const answered = ({ questions }: Asked, answers: Answers): ToolResult => ({ output: { questions, answers } })

const NOBODY_THERE: ToolResult = Object.freeze({
  error: {
    code: 'nobody_there',
    message: 'Nobody is there to answer in this run. Decide yourself, and say in your answer what you assumed.',
  },
})
const REUSED_ID: ToolResult = Object.freeze({
  error: {
    code: 'duplicate_call_id',
    message:
      'Another question of this turn had the same call id and is answered. Ask this one in your next turn, with an id of its own.',
  },
})
