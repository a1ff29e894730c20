import { messageOf } from '#contracts/errors'
import type { ProvisionedWorkspace } from '#contracts/hooks'
import type { Message } from '#contracts/run/message'
import type { RunRecord } from '#contracts/run/run'
import { untilStored } from '../events/until-stored.js'
import type { History } from './history.js'
import type { LiveRun } from './live-run.js'
import type { Outcome } from './loop.js'

type Settled = Exclude<Outcome, { kind: 'released' }>

/**
 * The one way out of a run: hooks, workspace, history, then the terminal event and the status in one commit. Nothing of
 * it may stop the run from ending; what goes wrong on the way is logged or turns the outcome into a failure.
 */
export async function settleRun(
  run: LiveRun,
  outcome: Settled,
  history: History,
  workspace: ProvisionedWorkspace | undefined,
): Promise<RunRecord> {
  await run.hooks.runSettling.promise(outcome, run).catch((error: unknown) => {
    run.log.error({ run: run.id, error: messageOf(error) }, 'a plugin failed while the run settled')
  })
  await destroyWorkspace(run, workspace)
  run.linger()
  const ending = outcome.kind === 'completed' ? await saveHistory(run, outcome, history) : outcome
  finish(run, ending)
  run.seal()
  await run.durable()
  return run.snapshot()
}

async function destroyWorkspace(run: LiveRun, workspace: ProvisionedWorkspace | undefined): Promise<void> {
  if (!workspace?.destroy) return
  const facts = { workspace_type: workspace.type ?? '', workspace_path: workspace.root }
  try {
    await workspace.destroy()
    if (workspace.type !== undefined) run.emit('workspace.destroyed', facts)
  } catch (error) {
    if (workspace.type !== undefined) run.emit('workspace.destroyed', { ...facts, error: messageOf(error) })
  }
}

/** A follow-up must see what this run said as soon as the run is seen to be completed, so the history goes first. */
async function saveHistory(
  run: LiveRun,
  ending: Extract<Settled, { kind: 'completed' }>,
  history: History,
): Promise<Settled> {
  const totals = run.usageTotals
  const addition = {
    runId: run.id,
    messages: run.isRewritten ? outline(run, ending.output) : run.transcript.slice(run.ownFrom),
    promptTokens: totals.prompt_tokens_total,
    completionTokens: totals.completion_tokens_total,
    costUsd: run.costTotals.cost_usd_total,
    workspace: run.workspace.root,
  }
  const rewritten = run.isRewritten ? { expectedCount: run.historyCount, messages: run.transcript } : undefined
  const save = (): Promise<void> => {
    // A former process may have stored it already: then what is held in memory must not grow by it once more.
    if (run.isClaimed) history.forget(run.tenantId, run.conversationId)
    return history.save(run.tenantId, run.conversationId, addition, rewritten)
  }
  try {
    await untilStored(run, save)
    return ending
  } catch (error) {
    run.log.error({ run: run.id, error: messageOf(error) }, 'conversation not saved')
    return { kind: 'failed', error: `the conversation could not be saved: ${messageOf(error)}` }
  }
}

/** What a rewritten run comes to when its transcript cannot take the place of a history that went on meanwhile. */
const outline = (run: LiveRun, output: string): readonly Message[] => [
  { role: 'user', content: run.request.prompt },
  { role: 'assistant', content: output },
]

function finish(run: LiveRun, ending: Settled): void {
  const totals = { usage_totals: run.usageTotals, cost_totals: run.costTotals }
  switch (ending.kind) {
    case 'completed':
      run.moveTo('completed')
      run.update({ output: ending.output })
      run.emit('run.completed', { output: ending.output, ...totals })
      return
    case 'cancelled':
      run.moveTo('cancelled')
      run.emit('run.cancelled', totals)
      return
    case 'failed':
      run.moveTo('failed')
      run.update({ error: ending.error })
      run.emit('run.failed', {
        error: ending.error,
        ...(ending.reason !== undefined && { reason: ending.reason }),
        ...ending.facts,
        ...totals,
      })
  }
}
