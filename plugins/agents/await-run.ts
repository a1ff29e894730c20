import { Failure } from '#contracts/errors'
import type { Identity } from '#contracts/identity'
import type { RunRecord } from '#contracts/run/run'
import type { Runs } from '#contracts/run/runs'
import type { AgentTask } from './agent-task.js'

export interface AgentRequest extends AgentTask {
  readonly timeoutSeconds: number
}

const DEFAULT_SECONDS = 120
const MAX_SECONDS = 600

/** The time an agent gets: nothing sensible asked means the default, more than there is the most there is. */
export const timeoutOf = (asked: number | undefined): number =>
  asked === undefined || asked <= 0 ? DEFAULT_SECONDS : Math.min(asked, MAX_SECONDS)

/**
 * Starts a run and waits for its end. A run whose time is over, or whose client went away (`gone`), is cancelled: nobody is
 * left to read what it says.
 */
export async function awaitRun(
  runs: Runs,
  identity: Identity,
  { prompt, allowedTools, timeoutSeconds }: AgentRequest,
  gone: AbortSignal,
): Promise<RunRecord> {
  const { run } = await runs.start(
    {
      prompt,
      ...(allowedTools.length > 0 && { allowed_tools: [...allowedTools] }),
      // The caller learns the run's id with the answer only, so no question of the run could ever be answered.
      ...(runs.honoured.has('permissions.unattended') && { permissions: { unattended: 'deny' } }),
    },
    identity,
  )
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), timeoutSeconds * 1000)
  try {
    const settled = await runs.settled(identity.tenantId, run.id, AbortSignal.any([deadline.signal, gone]))
    if (!settled) throw new Failure('execution_error', `run ${run.id} is gone`)
    return settled
  } catch (error) {
    if (!deadline.signal.aborted && !gone.aborted) throw error
    await runs.cancel(identity.tenantId, run.id)
    throw gone.aborted
      ? new Failure('unavailable', 'the client went away', { cause: error })
      : new Failure(
          'timeout',
          `the agent did not finish within ${timeoutSeconds} seconds; its run ${run.id} is cancelled`,
          {
            cause: error,
          },
        )
  } finally {
    clearTimeout(timer)
  }
}
