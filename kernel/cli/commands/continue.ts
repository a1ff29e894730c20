import { type AddCommand, examples, withConnection, withView } from '../options.js'
import type { StartOptions } from '../run/start-and-watch.js'

/** `runwright continue`. */
export const addContinueCommand: AddCommand = (program, environment, done) => {
  withView(withConnection(program.command('continue <run> <text>'), environment))
    .description('Go on from a completed run, in its conversation and with its limits, and watch the new run.')
    .addHelpText(
      'after',
      `\nA run is continued once; continue the newest. Exit codes are those of "runwright run".\n${examples([
        ['runwright continue run_7d0f… "Now add a test"', 'and watch it'],
        ['runwright continue run_7d0f… - --no-stream < next.md', 'print the id of the new run and leave'],
      ])}`,
    )
    .action(async (runId: string, text: string, options: StartOptions) => {
      const { continueAndWatch } = await import('../run/start-and-watch.js')
      done(await continueAndWatch(environment, runId, text, options))
    })
}
