import type { Ending, PendingCall } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Recap } from '#contracts/run/run'
import { mayMutate } from '#contracts/tool/tool'

const NOTE = 'recap.calls'
const MAX_NOTED = 200
const MAX_CHARS = 500
const GOAL_CHARS = 160
const TEST_COMMAND =
  /\b(?:go test|(?:npm|pnpm|yarn)(?: run)? test|pytest|cargo test)\b|regression\S*\.(?:sh|py|js|ts)\b/

interface Noted {
  readonly files: readonly string[]
  readonly commands: readonly string[]
}

const NOTHING: Noted = { files: [], commands: [] }
const notedBy = (run: ActiveRun): Noted => (run.note(NOTE) as Noted | undefined) ?? NOTHING

/** Remembers the files a mutating call is about and the commands it runs, also across a restart. */
export function noteCall({ tool, args }: PendingCall, run: ActiveRun): void {
  if (!mayMutate(tool)) return
  const subject = tool.subject?.(args)
  const noted = notedBy(run)
  const files = unique(noted.files, subject?.paths ?? [])
  const commands = tool.action === 'execute' && subject?.text ? unique(noted.commands, [subject.text]) : noted.commands
  if (files !== noted.files || commands !== noted.commands) run.setNote(NOTE, { files, commands })
}

/** The same array when nothing is new. */
function unique(known: readonly string[], more: readonly string[]): readonly string[] {
  const fresh = more.map(text => text.slice(0, MAX_CHARS)).filter(text => text !== '' && !known.includes(text))
  return fresh.length === 0 || known.length >= MAX_NOTED ? known : [...known, ...new Set(fresh)]
}

/** What a run amounted to. */
export function recapOf(ending: Ending | { readonly kind: 'cancelled' }, run: ActiveRun): Recap {
  const { files, commands } = notedBy(run)
  const tests = commands.filter(command => TEST_COMMAND.test(command))
  const goal = run.request.prompt.trim()
  const cause = ending.kind === 'failed' ? ending.error : ''
  return {
    goal,
    changed_files: [...files],
    tests_run: tests,
    failure_cause: cause,
    fix_pattern: patternOf({ hasFailed: cause !== '', files: files.length, tests: tests.length }),
    useful_commands: [...commands],
    next_continuation_prompt: `Continue run ${run.id}: ${[...goal].slice(0, GOAL_CHARS).join('')}`,
  }
}

function patternOf({ hasFailed, files, tests }: { hasFailed: boolean; files: number; tests: number }): string {
  if (hasFailed) return files > 0 ? 'failed_after_changes' : 'failed_before_changes'
  if (files === 0) return 'answered_without_changes'
  return tests > 0 ? 'changed_and_tested' : 'changed_untested'
}
