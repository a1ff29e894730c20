import type { ListModelsOptions } from '../models/list-models.js'
import { type AddCommand, examples, withConnection } from '../options.js'

/** `runwright models`. */
export const addModelsCommand: AddCommand = (program, environment, done) => {
  withConnection(program.command('models'), environment)
    .description(
      'List the models a daemon knows, with their context windows and prices in US dollars per million tokens.',
    )
    .option('--provider <name>', 'those of one provider only')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright models', 'all of them'],
        ['runwright models --provider anthropic', 'those of one provider'],
      ]),
    )
    .action(async (options: ListModelsOptions) => {
      const { listModels } = await import('../models/list-models.js')
      done(await listModels(environment, options))
    })
}
