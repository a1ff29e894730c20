import type { ExamineOptions } from '../doctor/examine.js'
import { type AddCommand, examples, withConfig, withConnection } from '../options.js'

/** `runwright doctor`. */
export const addDoctorCommand: AddCommand = (program, environment, done) => {
  withConnection(withConfig(program.command('doctor')), environment)
    .description(
      'Check what a daemon needs here, with the settings of this shell, and say what to do about what is missing. ' +
        'Exits 1 when something fails.',
    )
    .option('--no-ask', 'do not have the default model say a word (default: it does, for a few tokens)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples([
        ['runwright doctor', 'before the first start, and when something is odd'],
        ['runwright doctor --config team.toml', 'with this configuration'],
      ]),
    )
    .action(async (options: ExamineOptions) => {
      const { examine } = await import('../doctor/examine.js')
      done(await examine(environment, options))
    })
}
