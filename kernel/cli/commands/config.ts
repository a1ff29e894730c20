import type { ConfigOptions } from '../environment.js'
import { type AddCommand, examples, withConfig } from '../options.js'

/** `runwright config show`. */
export const addConfigCommand: AddCommand = (program, environment, done) => {
  const config = program
    .command('config')
    .description('Look at the configuration.')
    .addHelpText(
      'after',
      examples([
        ['runwright config show', 'every setting, its value and where it comes from'],
        ['runwright config show --json', 'for a script'],
      ]),
    )
  withConfig(config.command('show'))
    .description('Show each setting, its effective value and where that comes from. Secrets are masked.')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples([
        ['runwright config show', 'what the daemon would run with here'],
        ['runwright config show --config team.toml --json', 'with this file on top'],
      ]),
    )
    .action(async (options: ConfigOptions & { readonly json?: boolean }) => {
      const { showConfig } = await import('../show-config.js')
      done(await showConfig(environment, options))
    })
}
