import type { ApprovalOutcome, ApprovalQuestion } from '#contracts/approval'
import type { Checkpoints } from '#contracts/checkpoint'
import { messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'
import type { ActiveRun } from '#contracts/run/active-run'
import { APPROVAL_LETTER } from './approval-state.js'

/** Approvals as checkpoints, where there are any. A letter decides; a checkpoint only shows it, and stops nothing. */
export class CheckpointView {
  constructor(
    private readonly checkpoints: Checkpoints | undefined,
    private readonly log: PluginLog,
  ) {}

  /** The id of the checkpoint; the same question opens the same one. */
  async open(run: ActiveRun, question: ApprovalQuestion, key: string, deadline: string): Promise<string | undefined> {
    const opened = this.checkpoints?.open(run.tenantId, {
      kind: 'approval',
      run_id: run.id,
      call_id: question.callId,
      tool: question.tool,
      args: question.arguments,
      deadline_at: deadline,
      letter: { kind: APPROVAL_LETTER, key },
    })
    return (await opened?.catch(error => this.#complain(run.id, error)))?.id
  }

  /** Shows the outcome, unless one is shown already. */
  async settle(
    run: Pick<ActiveRun, 'id' | 'tenantId'>,
    checkpointId: string | undefined,
    outcome: ApprovalOutcome['kind'],
    payload?: string,
  ): Promise<void> {
    if (checkpointId === undefined) return
    await this.checkpoints
      ?.settle(run.tenantId, checkpointId, STATUS[outcome], payload)
      .catch(error => this.#complain(run.id, error))
  }

  #complain(runId: string, error: unknown): undefined {
    this.log.warn({ run: runId, error: messageOf(error) }, 'checkpoint of an approval not written')
  }
}

const STATUS = {
  approved: 'approved',
  denied: 'denied',
  resumed: 'resumed',
  timed_out: 'expired',
  unattended: 'denied',
} as const
