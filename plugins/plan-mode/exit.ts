import type { ApprovalOption, Approvals } from '#contracts/approval'
import type { AnswerVerdict } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Message } from '#contracts/run/message'
import type { WorkspaceFiles } from '#contracts/workspace-files'
import { approachesOf } from './approaches.js'
import { planOf } from './plan-content.js'
import { planFileOf } from './plan-file.js'
import { type PlanState, setState, stateOf } from './plan-state.js'

export const EXIT_TOOL = 'plan_exit'

/** A turn without tool calls shows the plan to a person; only their word leaves plan mode. */
export async function judgeExit(
  answer: string,
  run: ActiveRun,
  approvals: Approvals,
  files: WorkspaceFiles | undefined,
): Promise<AnswerVerdict | undefined> {
  const state = stateOf(run)
  if (state.mode === 'inactive') return undefined
  // The step makes the id unique in the run; a restart finds the same question under it.
  const callId = `${EXIT_TOOL}_${run.step}`
  const pending = state.pending?.callId === callId ? state.pending : { callId, ...(await planOf(run, answer, files)) }
  const { plan } = pending
  setState(run, { ...state, mode: 'exit_pending', pending })
  const options = approachesOf(plan)
  const outcome = await approvals.ask(run, {
    callId,
    tool: EXIT_TOOL,
    arguments: JSON.stringify({
      plan,
      plan_file: planFileOf(run.request),
      ...(options.length > 0 && { options }),
    }),
    ...(options.length > 0 && { options }),
  })
  if (outcome.kind === 'approved') {
    setState(run, { mode: 'inactive' })
    return outcome.option ? { kind: 'continue', messages: [chosen(outcome.option)] } : { kind: 'accept', output: plan }
  }
  setState(run, anew(state, pending.version))
  switch (outcome.kind) {
    case 'denied':
      return { kind: 'continue', messages: [sentBack(outcome.message)] }
    case 'resumed':
      return { kind: 'continue', messages: [sentBack(undefined)] }
    case 'timed_out':
      // Going on would plan and ask for ever, at somebody's cost.
      return { kind: 'failed', error: 'nobody approved or denied the plan in time', reason: 'approval_timeout' }
    case 'unattended':
      // Whoever said that nobody is there to ask wanted the plan and no more.
      return { kind: 'accept', output: plan }
  }
}

/** Planning goes on; what the plan file holds by now was shown, and is no answer to what was said about it. */
const anew = ({ firstVersion }: PlanState, shown = firstVersion): PlanState => ({
  mode: 'active',
  ...(shown !== undefined && { firstVersion: shown }),
})

const chosen = ({ label, description }: ApprovalOption): Message => ({
  role: 'user',
  content: `The plan is approved, with this approach: ${label}${description ? ` (${description})` : ''}. Carry it out now.`,
})

const sentBack = (remarks: string | undefined): Message => ({
  role: 'user',
  content: remarks
    ? `The plan is not approved. Remarks: ${remarks}\nRevise the plan and answer with all of it.`
    : 'The plan is not approved. Revise it and answer with all of it, or ask what is wanted.',
})
