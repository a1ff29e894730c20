import type { Run } from '#contracts/run/run'
import type { ApiReply } from '../api-client.js'
import { complain } from '../complain.js'
import { type AddCommand, type ConnectionOptions, connect, examples, withConnection } from '../options.js'
import { cut } from '../render/plain-text.js'
import { runFacts } from '../render/run-facts.js'
import { table } from '../render/table.js'

interface JsonOption extends ConnectionOptions {
  readonly json?: boolean
}

interface ListOptions extends JsonOption {
  readonly status?: string
  readonly conversation?: string
}

const PROMPT_CHARACTERS = 40

/** `runwright runs ls | get | cancel`. */
export const addRunsCommand: AddCommand = (program, environment, done) => {
  const runs = program
    .command('runs')
    .description('List, look at and cancel runs.')
    .addHelpText(
      'after',
      examples([
        ['runwright runs ls --status running', 'what is going on'],
        ['runwright runs cancel run_7d0f…', 'stop a run'],
      ]),
    )

  function finish<T>(reply: ApiReply<T>, isJson: boolean | undefined, show: (body: T) => string): void {
    if (reply.kind !== 'answered') done(complain(environment, reply))
    else environment.stdout.write(isJson ? `${JSON.stringify(reply.body, undefined, 2)}\n` : show(reply.body))
  }

  withConnection(runs.command('ls'), environment)
    .description('List stored runs, newest first (the daemon needs SVC_RUN_DB).')
    .option('--status <status>', 'only runs in this status, such as running or failed (default: all)')
    .option('--conversation <id>', 'only runs of this conversation (default: all)')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright runs ls', 'all of them'],
        ['runwright runs ls --status failed --json', 'for a script'],
      ]),
    )
    .action(async (options: ListOptions) => {
      const query = new URLSearchParams()
      if (options.status !== undefined) query.set('status', options.status)
      if (options.conversation !== undefined) query.set('conversation_id', options.conversation)
      const path = `/v1/runs${query.size === 0 ? '' : `?${query}`}`
      const reply = await connect(environment, options).request<{ readonly runs: readonly Run[] }>('GET', path)
      finish(reply, options.json, body =>
        body.runs.length === 0
          ? 'no runs\n'
          : table(
              ['ID', 'STATUS', 'MODEL', 'PROMPT'],
              body.runs.map(run => [run.id, run.status, run.model, cut(run.prompt, PROMPT_CHARACTERS)]),
            ),
      )
    })

  withConnection(runs.command('get <run>'), environment)
    .description('Show one run.')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright runs get run_7d0f…', 'status, output and price'],
        ['runwright runs get run_7d0f… --json', 'for a script'],
      ]),
    )
    .action(async (id: string, options: JsonOption) => {
      const reply = await connect(environment, options).request<Run>('GET', `/v1/runs/${encodeURIComponent(id)}`)
      finish(reply, options.json, runFacts)
    })

  withConnection(runs.command('cancel <run>'), environment)
    .description('Ask a run to stop. Asking twice, or for a finished run, is harmless.')
    .option('--json', 'print the answer of the daemon')
    .addHelpText(
      'after',
      examples([
        ['runwright runs cancel run_7d0f…', 'stop it'],
        ['runwright runs cancel run_7d0f… --json', 'for a script'],
      ]),
    )
    .action(async (id: string, options: JsonOption) => {
      const path = `/v1/runs/${encodeURIComponent(id)}/cancel`
      const reply = await connect(environment, options).request<{ readonly status: string }>('POST', path)
      finish(reply, options.json, body => `${body.status}\n`)
    })
}
