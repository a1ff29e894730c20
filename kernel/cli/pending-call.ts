import type { EventEnvelope } from '#contracts/event/envelope'
import type { Run } from '#contracts/run/run'
import type { ApiClient } from './api-client.js'

/** Does this event say that the run waits for a person? */
export const isWaiting = ({ type }: EventEnvelope): boolean => STATUS_OF[type] !== undefined

const STATUS_OF: Readonly<Record<string, string>> = {
  'run.waiting_for_user': 'waiting_for_user',
  'tool.approval_required': 'waiting_for_approval',
}

/**
 * Does the run still wait with what this event asks? A replayed question may have been answered long ago, and another one be
 * pending now. Where the daemon does not say, the event is believed.
 */
export async function isStillPending(api: ApiClient, runId: string, event: EventEnvelope): Promise<boolean> {
  const path = `/v1/runs/${encodeURIComponent(runId)}`
  const run = await api.request<Run>('GET', path)
  if (run.kind !== 'answered') return true
  if (run.body.status !== STATUS_OF[event.type]) return false
  const { call_id, checkpoint_id }: Readonly<Record<string, unknown>> = event.payload ?? {}
  // Unlike the status, these know of an answer that is accepted and not yet read by the run.
  if (event.type === 'run.waiting_for_user') {
    const input = await api.request<{ readonly call_id?: string }>('GET', `${path}/input`)
    if (input.kind === 'refused') return input.code !== 'no_pending_input'
    return input.kind !== 'answered' || input.body.call_id === call_id
  }
  if (typeof checkpoint_id !== 'string') return true
  const checkpoint = await api.request<{ readonly status?: string }>(
    'GET',
    `/v1/checkpoints/${encodeURIComponent(checkpoint_id)}`,
  )
  return checkpoint.kind !== 'answered' || checkpoint.body.status === 'pending'
}
