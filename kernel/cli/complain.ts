import type { ApiProblem } from './api-client.js'
import type { Terminal } from './environment.js'
import { EXIT } from './exit-code.js'
import { plainLine } from './render/plain-text.js'

/** Says on stderr what went wrong and what to do about it; returns the exit code. */
export function complain(terminal: Terminal, problem: ApiProblem | string): number {
  const [what, hint] = typeof problem === 'string' ? [problem] : explain(problem)
  terminal.stderr.write(`runwright: ${what}\n${hint === undefined ? '' : `  ${hint}\n`}`)
  return EXIT.problem
}

/** A sentence on what happened, and one on what helps where that is known. */
export function explain(problem: ApiProblem): readonly [what: string, hint?: string] {
  if (problem.kind === 'unreachable')
    return [
      `no daemon answers at ${problem.baseUrl} (${plainLine(problem.because)})`,
      'Start one with "npm start" or "runwright serve", or name another with --base-url or SVC_URL.',
    ]
  const what = `${plainLine(problem.code)}: ${plainLine(problem.message) || `HTTP ${problem.status}`}`
  const hint = hintFor(problem)
  return hint === undefined ? [what] : [what, hint]
}

/** Where the message of the daemon does not say itself what helps. */
function hintFor({ status, code, message }: Extract<ApiProblem, { kind: 'refused' }>): string | undefined {
  if (status === 401)
    return 'Give a key with --token or SVC_TOKEN. Make one where the daemon runs: runwright keys create --tenant default --scope runs:write'
  if (code === 'insufficient_scope') {
    const scope = /[a-z:]+$/.exec(message)?.[0] ?? '<scope>'
    return `Make a key that has it where the daemon runs: runwright keys create --tenant <tenant> --scope ${scope}`
  }
  if (status === 404 && message.startsWith('no run '))
    return 'Check the id; runs of other tenants and of a daemon without SVC_RUN_DB that was restarted are unknown.'
  if (status === 501)
    return 'This daemon is not set up for it. For stored runs and keys set SVC_RUN_DB=<file>; "runwright doctor" says what is missing.'
  if (status === 429 || status === 503) return 'The daemon is busy or stopping; try again in a moment.'
  return undefined
}
