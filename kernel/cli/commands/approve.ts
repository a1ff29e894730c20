import type { DecideOptions } from '../control/tell-run.js'
import { type AddCommand, examples, withConnection } from '../options.js'

/** `runwright approve | deny`. */
export const addApproveCommands: AddCommand = (program, environment, done) => {
  withConnection(program.command('approve <run>'), environment)
    .description('Approve the call, or the plan, a run waits with. Of all who answer, one wins.')
    .option('--call <id>', 'only if this call is the pending one (default: whichever is)')
    .option('--checkpoint <id>', 'the same by checkpoint: a model may use a call id again')
    .option('--option <id>', 'for a plan: carry out this approach (default: none, the plan is the result)')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright approve run_7d0f… --call call_1', 'the call that was shown, and no other'],
        ['runwright approve run_7d0f… --option a', 'a plan, with its first approach'],
      ]),
    )
    .action(async (runId: string, options: DecideOptions) => {
      const { decide } = await import('../control/tell-run.js')
      done(await decide(environment, runId, 'approve', options))
    })

  withConnection(program.command('deny <run>'), environment)
    .description('Deny the call, or send back the plan, a run waits with. The run goes on without it.')
    .option('--call <id>', 'only if this call is the pending one (default: whichever is)')
    .option('--checkpoint <id>', 'the same by checkpoint: a model may use a call id again')
    .option('--message <text>', 'why, or what to do instead; told to the model (default: nothing)')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright deny run_7d0f… --call call_1', 'the call that was shown, and no other'],
        ['runwright deny run_7d0f… --message "keep the tests"', 'and say why'],
      ]),
    )
    .action(async (runId: string, options: DecideOptions) => {
      const { decide } = await import('../control/tell-run.js')
      done(await decide(environment, runId, 'deny', options))
    })
}
