import { Command, CommanderError } from 'commander'
import { messageOf } from '#contracts/errors'
import { addServeCommand } from './commands/serve.js'
import { complain } from './complain.js'
import type { CliEnvironment } from './environment.js'
import { examples } from './options.js'

/**
 * The command line: reads `argv` (without node and script), does what it says, resolves with the exit code. Never
 * rejects and never ends the process.
 */
export async function runCli(argv: readonly string[], environment: CliEnvironment): Promise<number> {
  let exitCode = 0
  const done = (code: number): void => {
    exitCode = code
  }
  for (const stream of [environment.stdout, environment.stderr]) endQuietlyWithReader(stream)
  const program = createProgram(environment)
  for (const add of await commandsFor(argv)) add(program, environment, done)
  addHelpCommand(program)
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    return complain(environment, messageOf(error))
  }
}

function createProgram(environment: CliEnvironment): Command {
  const program = new Command('runwright')
    .description('Runs LLM coding agents behind an HTTP API, and talks to a daemon that does.')
    .version(environment.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: text => void environment.stdout.write(text),
      writeErr: text => void environment.stderr.write(text),
      getOutHelpWidth: () => environment.columns ?? 100,
      getErrHelpWidth: () => environment.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) => write(text.replace(/^error: /, 'runwright: ')),
    })
    .showSuggestionAfterError(true)
    .showHelpAfterError('(add --help for what is possible)')
    .addHelpText(
      'after',
      examples([
        ['runwright serve', 'start the daemon'],
        ['runwright run "Fix the failing test"', 'start a run and watch it'],
      ]),
    )
  return program
}

/** `help <command>`, which refuses a command there is none of. */
function addHelpCommand(program: Command): void {
  program
    .command('help [command...]')
    .description('Show help for a command.')
    .action((words: readonly string[]) => {
      let found = program
      for (const word of words) {
        const next = found.commands.find(command => command.name() === word)
        if (!next) return found.error(`error: unknown command '${words.join(' ')}'`, { exitCode: 1 })
        found = next
      }
      found.help()
    })
}

/**
 * A reader that leaves (`| head`) ends the output and not the program with a stack trace. For as long as the stream
 * lives: the error may come after the last command is done.
 */
function endQuietlyWithReader(stream: NodeJS.WritableStream): void {
  if (!stream.listeners('error').includes(ignoreBrokenPipe)) stream.on('error', ignoreBrokenPipe)
}

function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** A daemon that starts needs none of the commands that talk to one. */
const commandsFor = async ([name]: readonly string[]) =>
  name === 'serve' ? [addServeCommand] : (await import('./commands/all.js')).ALL_COMMANDS
