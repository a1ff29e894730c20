import { type Static, Type } from '@sinclair/typebox'

export const Option = Type.Object({
  label: Type.String({ minLength: 1 }),
  description: Type.String({ minLength: 1 }),
})

export const Question = Type.Object({
  question: Type.String({ minLength: 1, description: 'The whole question; no two may be the same.' }),
  header: Type.String({ minLength: 1, description: 'A word or two that stand above it.' }),
  options: Type.Array(Option, { minItems: 2, maxItems: 4, description: 'The answers to choose from.' }),
  multiSelect: Type.Optional(Type.Boolean({ description: 'May several options be chosen? Default: one.' })),
})
export type Question = Readonly<Static<typeof Question>>

/** A question as a person is shown it: whether several options may be chosen is always said. */
export const shownQuestion = (question: Question): Question & { readonly multiSelect: boolean } => ({
  ...question,
  multiSelect: question.multiSelect ?? false,
})

/** Arguments of the tool. What a schema cannot say is checked by `problemOf`. */
export const Questions = Type.Object({ questions: Type.Array(Question, { minItems: 1, maxItems: 4 }) })

/** What stands in the way of asking these questions, in words for the model. */
export function problemOf(questions: readonly Question[]): string | undefined {
  const blank = blankField(questions)
  if (blank !== undefined) return `${blank}: must say something`
  const asked = questions.map(({ question }) => question)
  const twice = repeated(asked)
  if (twice !== undefined)
    return `the question ${JSON.stringify(twice)} is asked twice; every question must be different`
  for (const { question, options } of questions) {
    const label = repeated(options.map(option => option.label.trim()))
    if (label !== undefined)
      return `question ${JSON.stringify(question)} has two options labelled ${JSON.stringify(label)}; every label must be different`
  }
  return undefined
}

function blankField(questions: readonly Question[]): string | undefined {
  const texts = questions.flatMap(({ question, header, options }, index) => [
    [`questions[${index}].question`, question],
    [`questions[${index}].header`, header],
    ...options.flatMap(({ label, description }, at) => [
      [`questions[${index}].options[${at}].label`, label],
      [`questions[${index}].options[${at}].description`, description],
    ]),
  ])
  return texts.find(([, text]) => text?.trim() === '')?.[0]
}

const repeated = (texts: readonly string[]): string | undefined =>
  texts.find((text, index) => texts.indexOf(text) !== index)
