import type { StoredEvent } from '#contracts/event/envelope'
import type { Message } from '#contracts/run/message'
import type { RunRequest } from '#contracts/run/request'
import type { RunRecord } from '#contracts/run/run'
import { serialiseEvent } from '../events/serialise.js'

/** What the user said to start the run. It is stored with the run itself, so that no run is ever without it. */
export function openingMessage({ prompt, attachments = [] }: RunRequest, opening = prompt): Message {
  return { role: 'user', content: opening, ...(attachments.length > 0 && { blocks: attachments }) }
}

/** The events a run is stored with: that it began, and that it has to wait for its turn where it has to. */
export function openingEvents(record: RunRecord, mustWait: boolean): readonly StoredEvent[] {
  const origin = { id: record.id, conversationId: record.conversation_id, step: 0 }
  const started = {
    prompt: record.prompt,
    ...(record.previous_run_id && { previous_run_id: record.previous_run_id }),
    tenant_id: record.tenant_label ?? record.tenant_id,
  }
  const at = record.created_at
  const events = [serialiseEvent(origin, 0, 'run.started', started, at)]
  if (mustWait) events.push(serialiseEvent(origin, 1, 'run.queued', { prompt: record.prompt }, at))
  return events
}
