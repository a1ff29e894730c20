import type { ServeOptions } from '../environment.js'
import { type AddCommand, examples, withConfig } from '../options.js'

/** `runwright serve`. */
export const addServeCommand: AddCommand = (program, environment, done) => {
  withConfig(program.command('serve'))
    .description('Run the daemon in the foreground until SIGTERM or Ctrl-C.')
    .option('--addr <host:port>', 'listen address; port 0 picks a free one (SVC_ADDR; default 127.0.0.1:8080)')
    .addHelpText(
      'after',
      examples([
        ['runwright serve', 'on 127.0.0.1:8080, with the settings of the environment'],
        ['runwright serve --config team.toml --addr 127.0.0.1:9000', 'a deployment file, another port'],
      ]),
    )
    .action(async (options: ServeOptions) => done(await environment.serve(options)))
}
