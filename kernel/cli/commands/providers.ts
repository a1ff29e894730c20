import type { ListProvidersOptions } from '../models/list-providers.js'
import { type AddCommand, type ConnectionOptions, examples, withConnection } from '../options.js'

/** `runwright providers [key | import]`. */
export const addProvidersCommand: AddCommand = (program, environment, done) => {
  const providers = withConnection(program.command('providers'), environment)
    .description('List the model providers of a daemon: which are configured, which answer, what the others need.')
    .option('--check', 'ask each configured provider now (lists its models; costs no tokens)')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright providers', 'a table'],
        ['runwright providers --check', 'and find out which answer'],
      ]),
    )
    .action(async (options: ListProvidersOptions) => {
      const { listProviders } = await import('../models/list-providers.js')
      done(await listProviders(environment, options))
    })

  withConnection(providers.command('key <name>'), environment)
    .description('Give a running daemon a key, read from stdin. It wins over the variable and is never shown again.')
    .addHelpText(
      'after',
      examples([
        ['runwright providers key groq < key.txt', 'from a file'],
        ['pass show groq | runwright providers key groq', 'from a password store'],
      ]),
    )
    .action(async (name: string, options: ConnectionOptions) => {
      const { setProviderKey } = await import('../models/provider-access.js')
      done(await setProviderKey(environment, name, options))
    })

  withConnection(providers.command('import <name>'), environment)
    .description('Let a running daemon take over the session of a vendor’s own command line on its machine.')
    .addHelpText(
      'after',
      examples([
        ['runwright providers import codex-subscription', 'the session of codex'],
        ['runwright providers import kimi-subscription', 'the session of kimi'],
      ]),
    )
    .action(async (name: string, options: ConnectionOptions) => {
      const { importSubscription } = await import('../models/provider-access.js')
      done(await importSubscription(environment, name, options))
    })
}
