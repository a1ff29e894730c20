import type { AnswerOptions } from '../control/answer-run.js'
import { type AddCommand, examples, withConnection } from '../options.js'

/** `runwright answer`. */
export const addAnswerCommand: AddCommand = (program, environment, done) => {
  withConnection(program.command('answer <run> [answers...]'), environment)
    .description('Answer the question a run waits with. Without answers it is asked at the keyboard.')
    .option('--json', 'print the answer of the daemon; without answers, the question')
    .addHelpText(
      'after',
      `
An answer is <question>=<answer>, or <number of the question>=<answer>; with a single question the answer alone
will do. Answers are labels of options or their numbers; several, where that is allowed, with commas.
${examples([
  ["runwright answer run_7d0f… 'Which colour?=Blue'", 'by the words of the question'],
  ['runwright answer run_7d0f… 1=Blue 2=1,3', 'two questions, by number'],
])}`,
    )
    .action(async (runId: string, words: readonly string[], options: AnswerOptions) => {
      const { answerRun } = await import('../control/answer-run.js')
      done(await answerRun(environment, runId, words, options))
    })
}
