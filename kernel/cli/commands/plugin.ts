import { type AddCommand, type ConnectionOptions, examples, withConnection } from '../options.js'

/** `runwright plugin new | check | ls`. */
export const addPluginCommand: AddCommand = (program, environment, done) => {
  const plugin = program
    .command('plugin')
    .description('Write a plugin, check one, list those of a running daemon.')
    .addHelpText(
      'after',
      examples([
        ['runwright plugin new word-count', 'a working plugin with its test'],
        ['runwright plugin check plugins/word-count', 'run the contract kit on it'],
      ]),
    )

  plugin
    .command('new <name>')
    .description('Write a working plugin: a tool, its settings, a test that runs the contract kit, a README.')
    .option('--dir <parent>', 'where the folder goes (default: plugins when there is one here, else .)')
    .addHelpText(
      'after',
      examples([
        ['runwright plugin new word-count', 'into ./plugins/word-count'],
        ['runwright plugin new word-count --dir ../my-plugins', 'into a directory of your own'],
      ]),
    )
    .action(async (name: string, options: { readonly dir?: string }) => {
      const { writePlugin } = await import('../scaffold/write-plugin.js')
      done(await writePlugin(environment, name, options))
    })

  plugin
    .command('check <dir>')
    .description('Run the contract kit on a plugin folder. Exits 1 when a case fails.')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples([
        ['runwright plugin check plugins/word-count', 'one folder'],
        ['runwright plugin check ../my-plugins/acme --json', 'for a script'],
      ]),
    )
    .action(async (directory: string, options: { readonly json?: boolean }) => {
      const { checkPluginFolder } = await import('../check-plugin-folder.js')
      done(await checkPluginFolder(environment, directory, options))
    })

  withConnection(plugin.command('ls'), environment)
    .description('List the plugins of a running daemon: generation, state, what they add, last error.')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright plugin ls', 'a table'],
        ['runwright plugin ls --json', 'for a script'],
      ]),
    )
    .action(async (options: ConnectionOptions & { readonly json?: boolean }) => {
      const { listPlugins } = await import('../list-plugins.js')
      done(await listPlugins(environment, options))
    })
}
