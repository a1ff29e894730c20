import { Option } from 'commander'
import { type AddCommand, amount, collect, examples, wholeNumber, withConnection, withView } from '../options.js'
import type { RunOptions } from '../run/run-options.js'

/** `runwright run`. */
export const addRunCommand: AddCommand = (program, environment, done) => {
  const command = withConnection(program.command('run <prompt>'), environment)
    .description('Start a run and watch it to its end. The exit code tells how it ended.')
    .option('--model <id>', 'model id or alias (default: the daemon’s)')
    .option('--provider <name>', 'use this provider and no other routing rule')
    .option('--system-prompt <text>', 'replace the composed system prompt')
    .option('--conversation <id>', 'continue this conversation (default: a new one)')
    .option('--max-steps <n>', 'end after so many steps (default: 0, no limit)', wholeNumber)
    .option('--max-turns <n>', 'end after so many model turns (default: 0, no limit)', wholeNumber)
    .option('--max-cost <usd>', 'end when the run has cost this much (default: 0, no limit)', amount)
    .option('--workspace <dir>', 'directory the tools work in, on the daemon’s machine (default: the daemon’s)')
    .option('--allow-tool <name>', 'offer only these tools; repeatable (default: all)', collect)
    .option('--deny-tool <name>', 'never offer this tool; repeatable (default: none)', collect)
    .addOption(
      new Option('--sandbox <scope>', 'what commands may reach (default: workspace)').choices([
        'workspace',
        'local',
        'unrestricted',
      ]),
    )
    .addOption(
      new Option('--network <access>', 'may commands use the network (default: allow)').choices(['allow', 'deny']),
    )
    .option('--plan', 'plan first, read-only; the plan is put to you for approval (default: no)')
    .addOption(
      new Option('--approval <policy>', 'which calls wait for approval (default: none)').choices([
        'none',
        'destructive',
        'all',
      ]),
    )
    .addOption(
      new Option('--unattended <how>', 'what a call or question does when nobody is there (default: wait)').choices([
        'wait',
        'deny',
        'fail',
      ]),
    )
    .option('--allow-fallback', 'let another provider answer when the chosen one cannot (default: no)')
    .option('--idempotency-key <key>', 'the same key starts the run only once in 24 h (default: a new one)')
  withView(command)
    .addHelpText(
      'after',
      `\nA prompt of "-" is read from stdin. Ctrl-C cancels the run; a second Ctrl-C leaves at once.
What the run asks is asked here. When stdin is no terminal, or you end the input (Ctrl-D), the run stays alive and
the commands that answer it are printed.

Exit codes: 0 completed, 1 wrong use or no daemon, 2 failed, 3 waits for a person and stdin is no
terminal (the run stays alive), 6 cancelled, 130 interrupted.
${examples([
  ['runwright run "Fix the failing test" --workspace .', 'in this directory'],
  ['git diff | runwright run - --quiet --network deny', 'prompt from a pipe, answer to a pipe'],
])}`,
    )
    .action(async (prompt: string, options: RunOptions) => {
      const { startAndWatch } = await import('../run/start-and-watch.js')
      done(await startAndWatch(environment, prompt, options))
    })
}
