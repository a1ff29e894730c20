import { setTimeout as delay } from 'node:timers/promises'
import type { EventEnvelope } from '#contracts/event/envelope'
import type { ApiClient } from '../api-client.js'
import { explain } from '../complain.js'
import type { Terminal } from '../environment.js'
import { DEFAULT_RECONNECT } from '../event-stream.js'
import { shownOf } from './approval-prompt.js'
import { approvalRequestOf } from './asker.js'

const MAX_ATTEMPTS = 4

/** Approves the very call an event shows. False when that cannot be done; true also when somebody else answered it. */
export async function approveShown(
  terminal: Terminal,
  api: ApiClient,
  runId: string,
  event: EventEnvelope,
  signal: AbortSignal,
): Promise<boolean> {
  const { firstMs } = terminal.reconnect ?? DEFAULT_RECONNECT
  const body = shownOf(approvalRequestOf(event))
  for (let attempt = 1; ; attempt += 1) {
    const reply = await api.request('POST', `/v1/runs/${encodeURIComponent(runId)}/approve`, { body, signal })
    if (reply.kind === 'answered' || signal.aborted) return true
    if (reply.kind === 'refused' && (reply.status === 404 || reply.status === 409)) return true
    if (reply.kind === 'refused' || attempt === MAX_ATTEMPTS) {
      terminal.stderr.write(`runwright: ${explain(reply).join('\n  ')}\n`)
      return false
    }
    await delay(firstMs * 2 ** attempt, undefined, { signal }).catch(() => undefined)
  }
}
