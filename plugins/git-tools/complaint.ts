import { failed, type GitAnswer, type GitFailed } from './run-git.js'

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
  const [, reason] = /^(?:fatal|error): (.{1,500})/m.exec(complaint) ?? []
  return failed('git_failed', reason ?? `git ended with exit code ${answer.exitCode}.`)
}
