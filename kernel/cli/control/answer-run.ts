import { openLineReader } from '../ask/line-reader.js'
import { questionLine, questionScreen, questionsIn, type RunQuestion, readAnswer } from '../ask/question-prompt.js'
import { complain } from '../complain.js'
import type { Terminal } from '../environment.js'
import { EXIT } from '../exit-code.js'
import { type ConnectionOptions, connect } from '../options.js'
import { plainLine } from '../render/plain-text.js'
import { tellReply } from './tell-reply.js'

export interface AnswerOptions extends ConnectionOptions {
  readonly json?: boolean
}

interface PendingInput {
  readonly questions: unknown
}

/** Answers the question a run waits with: by `words`, else from the keyboard. Resolves with the exit code. */
export async function answerRun(
  terminal: Terminal,
  runId: string,
  words: readonly string[],
  options: AnswerOptions,
): Promise<number> {
  const api = connect(terminal, options)
  const path = `/v1/runs/${encodeURIComponent(runId)}/input`
  const pending = await api.request<PendingInput>('GET', path)
  if (pending.kind !== 'answered') return complain(terminal, pending)
  const questions = questionsIn(pending.body.questions)
  if (words.length === 0 && options.json) return tellReply(terminal, pending, true, String)
  if (words.length === 0 && !terminal.isTty.stdin) {
    terminal.stderr.write(questions.map(questionScreen).join(''))
    complain(terminal, `nobody is at this terminal; answer with: runwright answer ${runId} '1=<label or number>' …`)
    return EXIT.blocked
  }
  const answers = words.length > 0 ? answersFrom(words, questions) : await typedAnswers(terminal, questions)
  if (answers === undefined) return EXIT.blocked
  if (typeof answers === 'string') return complain(terminal, answers)
  const reply = await api.request<{ readonly status: string }>('POST', path, { body: { answers } })
  return tellReply(terminal, reply, options.json, body => `${plainLine(body.status)}\n`)
}

/** Question → answer, from `question=answer`, `number=answer`, or just the answer where one question is asked. */
function answersFrom(words: readonly string[], questions: readonly RunQuestion[]): Record<string, string> | string {
  const answers = new Map<string, string>()
  for (const word of words) {
    const named = questions
      .map((question, at) => ({ question, text: textBehind(word, [question.question, `${at + 1}`]) }))
      .find(({ text }) => text !== undefined)
    const [only] = questions.length === 1 ? questions : []
    const question = named?.question ?? only
    if (!question)
      return `${JSON.stringify(plainLine(word))} names no question; write <question>=<answer> or <number>=<answer>`
    const answer = readAnswer(named?.text ?? word, question, 'label')
    if (answer === undefined)
      return `${JSON.stringify(plainLine(named?.text ?? word))} is no answer to ${JSON.stringify(plainLine(question.question))}: ${choicesOf(question)}`
    if (answers.has(question.question)) return `${JSON.stringify(plainLine(question.question))} is answered twice`
    answers.set(question.question, answer)
  }
  const missing = questions.find(({ question }) => !answers.has(question))
  if (missing) return `${JSON.stringify(plainLine(missing.question))} needs an answer too: ${choicesOf(missing)}`
  return Object.fromEntries(answers)
}

const textBehind = (word: string, names: readonly string[]): string | undefined =>
  names.filter(name => word.startsWith(`${name}=`)).map(name => word.slice(name.length + 1))[0]

const choicesOf = ({ options, multiSelect }: RunQuestion): string =>
  `${multiSelect ? 'one or more' : 'one'} of ${options.map(({ label }) => JSON.stringify(plainLine(label))).join(', ')}`

/** Undefined when the person ended the input or interrupted. */
async function typedAnswers(
  terminal: Terminal,
  questions: readonly RunQuestion[],
): Promise<Record<string, string> | undefined> {
  const stop = new AbortController()
  const undo = terminal.onInterrupt(() => stop.abort())
  const reader = openLineReader(terminal.stdin)
  try {
    const answers: [string, string][] = []
    for (const question of questions) {
      terminal.stderr.write(questionScreen(question))
      let answer: string | undefined
      while (answer === undefined) {
        terminal.stderr.write(questionLine(question))
        const line = await reader.next(stop.signal)
        if (line === undefined) return undefined
        answer = readAnswer(line, question, 'number')
      }
      answers.push([question.question, answer])
    }
    return Object.fromEntries(answers)
  } finally {
    reader.close()
    undo()
  }
}
