import type { Question } from './question.js'

/** Question text → the chosen label, or labels separated by commas. */
export type Answers = Readonly<Record<string, string>>

/** Why these are not answers to the questions: a sentence that names the question. Undefined when they are. */
export function problemWith(answers: Answers, questions: readonly Question[]): string | undefined {
  const stranger = Object.keys(answers).find(key => questions.every(({ question }) => question !== key))
  if (stranger !== undefined)
    return `answers: ${JSON.stringify(stranger)} is no question that is asked; the keys are the texts of the questions`
  for (const question of questions) {
    const name = `answers[${JSON.stringify(question.question)}]`
    const answer = Object.hasOwn(answers, question.question) ? answers[question.question] : undefined
    if (answer === undefined) return `${name}: is missing; every question needs its answer`
    const problem = question.multiSelect ? problemWithSeveral(answer, question) : problemWithOne(answer, question)
    if (problem !== undefined) return `${name}: ${problem}`
  }
  return undefined
}

/** The answers a letter carries, as far as they are texts: a letter may come from elsewhere than the input route. */
export function answersIn(body: unknown, questions: readonly Question[]): Answers {
  const given: unknown = typeof body === 'object' && body !== null && 'answers' in body ? body.answers : undefined
  if (typeof given !== 'object' || given === null) return {}
  const asked = new Set(questions.map(({ question }) => question))
  return Object.fromEntries(
    Object.entries(given).filter(
      (entry): entry is [string, string] => asked.has(entry[0]) && typeof entry[1] === 'string',
    ),
  )
}

/** What a letter shows as its checkpoint's payload: what that was resumed with, else the answers. */
export function payloadIn(body: unknown, answers: Answers): unknown {
  return typeof body === 'object' && body !== null && 'payload' in body ? body.payload : { answers }
}

/** The public prefix of the key the answers came with, where there is one. */
export function authorIn(body: unknown): string | undefined {
  const by = typeof body === 'object' && body !== null && 'by' in body ? body.by : undefined
  return typeof by === 'string' ? by : undefined
}

const problemWithOne = (answer: string, { options }: Question): string | undefined =>
  options.some(({ label }) => label === answer) ? undefined : `must be one of ${labelsOf(options)}`

function problemWithSeveral(answer: string, { options }: Question): string | undefined {
  const chosen = chosenLabels(
    answer,
    options.map(({ label }) => label.trim()),
  )
  if (chosen === undefined) return `must be one or more of ${labelsOf(options)}, separated by commas`
  return new Set(chosen).size === chosen.length ? undefined : 'names an option twice'
}

/** Cuts an answer into labels. A label may itself hold commas, so the pieces are tried longest first. */
function chosenLabels(answer: string, labels: readonly string[]): readonly string[] | undefined {
  const pieces = answer.split(',', MAX_PIECES + 1)
  if (pieces.length > MAX_PIECES) return undefined
  const from = (start: number): readonly string[] | undefined => {
    for (let end = pieces.length; end > start; end--) {
      const label = pieces.slice(start, end).join(',').trim()
      if (!labels.includes(label)) continue
      const rest = end === pieces.length ? [] : from(end)
      if (rest) return [label, ...rest]
    }
    return undefined
  }
  return from(0)
}

const MAX_PIECES = 64
const labelsOf = (options: Question['options']): string => options.map(({ label }) => JSON.stringify(label)).join(', ')
