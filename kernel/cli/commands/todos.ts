import { type AddCommand, type ConnectionOptions, examples, withConnection } from '../options.js'

/** `runwright todos`. */
export const addTodosCommand: AddCommand = (program, environment, done) => {
  withConnection(program.command('todos <run>'), environment)
    .description('Show what a run has noted to do: [x] done, [>] being done.')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright todos run_7d0f…', 'a list'],
        ['runwright todos run_7d0f… --json', 'for a script'],
      ]),
    )
    .action(async (runId: string, options: ConnectionOptions & { readonly json?: boolean }) => {
      const { showTodos } = await import('../control/show-todos.js')
      done(await showTodos(environment, runId, options))
    })
}
