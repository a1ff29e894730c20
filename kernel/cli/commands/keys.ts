import type { CreateKeyOptions, KeysOptions } from '../keys/keys-options.js'
import { type AddCommand, examples, withConfig } from '../options.js'

/** `runwright keys create | list | revoke`. */
export const addKeysCommand: AddCommand = (program, environment, done) => {
  const keys = program
    .command('keys')
    .description(
      'Make, list and revoke API keys, also while the daemon runs. They live in the run database (SVC_RUN_DB).',
    )
    .addHelpText(
      'after',
      examples([
        ['runwright keys create --tenant default --scope runs:write', 'make a key and print it once'],
        ['runwright keys revoke 4fQ9xB2a', 'end it'],
      ]),
    )
  const withDatabase = (command: ReturnType<typeof keys.command>) =>
    withConfig(command)
      .option('--db <file>', 'run database (default: the run_db setting, SVC_RUN_DB)')
      .option('--json', 'print JSON')

  withDatabase(keys.command('create'))
    .description('Make a key. It is printed once and cannot be shown again: only a digest is stored.')
    .requiredOption('--tenant <tenant>', 'whose runs the key reaches')
    .requiredOption('--scope <scopes>', 'runs:read, runs:write or admin; several with commas')
    .option('--name <name>', 'what the key is for, shown by "keys list" (default: empty)')
    .option('--expires <time>', 'when it ends, RFC 3339, such as 2027-01-31T00:00:00Z (default: never)')
    .addHelpText(
      'after',
      examples([
        ['runwright keys create --tenant default --scope runs:write --name ci', 'start and read runs'],
        ['SVC_TOKEN=$(runwright keys create --tenant acme --scope runs:read)', 'straight into a variable'],
      ]),
    )
    .action(async (options: CreateKeyOptions) => {
      const { createKey } = await import('../keys/create-key.js')
      done(await createKey(environment, options))
    })

  withDatabase(keys.command('list'))
    .description('List keys, newest first. Keys themselves are never shown, only their first eight characters.')
    .addHelpText(
      'after',
      examples([
        ['runwright keys list', 'a table'],
        ['runwright keys list --json', 'for a script'],
      ]),
    )
    .action(async (options: KeysOptions) => {
      const { listKeys } = await import('../keys/list-keys.js')
      done(await listKeys(environment, options))
    })

  withDatabase(keys.command('revoke <prefix>'))
    .description('End a key at once, by its first eight characters. Streams opened with it close too.')
    .addHelpText(
      'after',
      examples([
        ['runwright keys revoke 4fQ9xB2a', 'by its prefix, as "keys list" shows it'],
        ['runwright keys revoke 4fQ9xB2a --db runs.db', 'in this database'],
      ]),
    )
    .action(async (prefix: string, options: KeysOptions) => {
      const { revokeKey } = await import('../keys/revoke-key.js')
      done(await revokeKey(environment, prefix, options))
    })
}
