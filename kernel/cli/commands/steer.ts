import type { TellOptions } from '../control/tell-run.js'
import { type AddCommand, examples, withConnection } from '../options.js'

/** `runwright steer`. */
export const addSteerCommand: AddCommand = (program, environment, done) => {
  withConnection(program.command('steer <run> <text>'), environment)
    .description('Say something to a run in flight. It reads it before its next step.')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      `\nA text of "-" is read from stdin. Ten messages may wait for the next step.\n${examples([
        ['runwright steer run_7d0f… "Use tabs, not spaces"', 'while it works'],
        ['runwright steer run_7d0f… - < remarks.md', 'from a file'],
      ])}`,
    )
    .action(async (runId: string, text: string, options: TellOptions) => {
      const { steer } = await import('../control/tell-run.js')
      done(await steer(environment, runId, text, options))
    })
}
