import { failed, type GitAnswer, type GitFailed } from './run-git.js'

const WRONG_USAGE = 129

/** What a failed git command means for the model; undefined when it did not fail. */
export function complaintOf(answer: GitAnswer | GitFailed): GitFailed | undefined {
  if (answer.kind === 'failed') return answer
  if (answer.isTimedOut)
    return failed('timed_out', 'git took too long. Narrow the question: a path, a date, fewer results.')
  if (answer.exitCode === 0) return undefined
  const { complaint } = answer
  if (/not a git repository|cannot use bare repository/i.test(complaint))
    return failed('not_a_repository', 'The workspace is not in a git repository.')
  if (/command not found|No such file or directory.*git|execvp/i.test(complaint))
    return failed('no_git', 'The program git is not installed here.')
  // Then it shows how it is called, which says nothing to a model that calls a tool.
  if (answer.exitCode === WRONG_USAGE)
    return failed(
      'git_failed',
      'git does not take these arguments together. Give one revision for each; a range like a..b stands alone, as target of git_diff.',
    )
  const [, reason] = /^(?:fatal|error): (.{1,500})/m.exec(complaint) ?? []
  return failed('git_failed', reason ?? `git ended with exit code ${answer.exitCode}.`)
}
