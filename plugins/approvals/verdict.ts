import type { ApprovalOutcome } from '#contracts/approval'
import type { Verdict } from '#contracts/hooks'

/** What an answer means for the call. Denials are quiet: they have an event of their own. */
export function verdictOf(outcome: ApprovalOutcome): Exclude<Verdict, { kind: 'ask' }> {
  switch (outcome.kind) {
    case 'approved':
      return { kind: 'allow' }
    case 'denied':
      return deny(
        'permission_denied',
        outcome.message ? `A person refused this call and said: ${outcome.message}` : 'A person refused this call.',
      )
    case 'resumed':
      return deny('permission_denied', 'The run was resumed without an approval of this call.')
    case 'unattended':
      return deny('permission_denied', 'This call needs an approval, and the run has nobody to give one.')
    case 'timed_out':
      return deny(
        'approval_timeout',
        'Nobody answered in time whether this call may run. It was neither allowed nor refused.',
      )
  }
}

const deny = (code: 'permission_denied' | 'approval_timeout', message: string) =>
  ({ kind: 'deny', reason: code, output: { code, message }, isQuiet: true }) as const
