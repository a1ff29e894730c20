import { complain } from '../complain.js'
import { sequenceOf } from '../event-id.js'
import { type AddCommand, type ConnectionOptions, connect, examples, wholeNumber, withConnection } from '../options.js'
import type { ViewOptions } from '../run/run-options.js'

interface AttachOptions extends ConnectionOptions, ViewOptions {
  readonly after?: string
}

/** `runwright attach`. */
export const addAttachCommand: AddCommand = (program, environment, done) => {
  withConnection(program.command('attach <run>'), environment)
    .description('Watch a run that was started elsewhere, from its first event on. Ctrl-C stops watching, not the run.')
    .option('--after <event>', 'start behind this event: its id, or its number in the run (default: the beginning)')
    .option('--tool-output <lines>', 'lines shown of a tool’s output (default: 10)', wholeNumber)
    .option('-q, --quiet', 'print the final answer only')
    .option('--json', 'print each event as one line of JSON, and nothing else')
    .addHelpText(
      'after',
      `\nExit codes are those of "runwright run".\n${examples([
        ['runwright attach run_7d0f…', 'the whole run, also a finished one'],
        ['runwright attach run_7d0f… --after 41 --json', 'events 42 and later, as JSON lines'],
      ])}`,
    )
    .action(async (runId: string, options: AttachOptions) => {
      if (options.json && options.quiet) return done(complain(environment, 'give --json or --quiet, not both'))
      const after =
        options.after !== undefined && /^\d+$/.test(options.after) ? `${runId}:${options.after}` : options.after
      if (after !== undefined && sequenceOf(after, runId) === undefined)
        return done(complain(environment, `--after takes an event of ${runId}: its id, or its number`))
      const [{ watchRun }, { chooseView }] = await Promise.all([
        import('../watch-run.js'),
        import('../render/choose-view.js'),
      ])
      const api = connect(environment, options)
      done(await watchRun(environment, api, runId, chooseView(environment, options), { after, onInterrupt: 'detach' }))
    })
}
