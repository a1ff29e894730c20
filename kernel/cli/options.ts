import { type Command, InvalidArgumentError } from 'commander'
import { type ApiClient, createApiClient } from './api-client.js'
import type { CliEnvironment, Terminal } from './environment.js'

/** Adds a command to the program. `done` takes the exit code when it is not 0. */
export type AddCommand = (program: Command, environment: CliEnvironment, done: (exitCode: number) => void) => void

export interface ConnectionOptions {
  readonly baseUrl?: string
  readonly token?: string
}

/** `--base-url` and `--token`, on every command that talks to a daemon. */
export const withConnection = (command: Command, terminal: Terminal): Command =>
  command
    .option('--base-url <url>', `address of the daemon (SVC_URL; default ${terminal.baseUrl})`, httpAddress)
    .option('--token <key>', 'API key; SVC_TOKEN keeps it out of the shell history')

/** How a run that is started is shown, and whether its calls are asked about. */
export const withView = (command: Command): Command =>
  command
    .option('--approve-all', 'approve every call that waits for approval, plans included (default: ask)')
    .option('--no-stream', 'print the id of the run and leave; it goes on')
    .option('--tool-output <lines>', 'lines shown of a tool’s output (default: 10)', wholeNumber)
    .option('-q, --quiet', 'print the final answer only')
    .option('--json', 'print each event as one line of JSON, and nothing else')

/** `--config` and `--profile`, on every command that reads the configuration. */
export const withConfig = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration file on top of the user and project ones')
    .option('--profile <name>', 'named profile of the configuration (default: none)')

export const connect = (terminal: Terminal, options: ConnectionOptions): ApiClient =>
  createApiClient(options.baseUrl ?? terminal.baseUrl, options.token ?? terminal.token)

/** What a command needs besides its arguments to reach the same daemon. A key is never part of it. */
export const whereOf = (terminal: Terminal, api: ApiClient): string =>
  api.baseUrl === terminal.baseUrl.replace(/\/+$/, '') ? '' : ` --base-url ${api.baseUrl}`

/** The last part of a help page. */
export function examples(lines: readonly (readonly [command: string, says: string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length))
  return `\nExamples:\n${lines.map(([command, says]) => `  ${command.padEnd(width)}  # ${says}`).join('\n')}\n`
}

/** For repeatable options. */
export const collect = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value]

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number, 0 or more.')
  return Number(text)
}

export function amount(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('Give a number, 0 or more.')
  return value
}

export function httpAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new InvalidArgumentError('Give an http or https address, such as http://127.0.0.1:8080.')
  return text
}
