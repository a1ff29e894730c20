import { type Static, Type } from '@sinclair/typebox'
import type { ActiveRun } from '#contracts/run/active-run'
import { transcriptTokens } from '#contracts/run/token-estimate'

const HIGH_TOKENS = 60_000
const MEDIUM_TOKENS = 30_000

/** How full a run's context is. */
export const ContextStatus = Type.Object({
  message_count: Type.Integer(),
  estimated_tokens: Type.Integer(),
  context_pressure: Type.Union([Type.Literal('low'), Type.Literal('medium'), Type.Literal('high')]),
})
export type ContextStatus = Readonly<Static<typeof ContextStatus>>

export function statusOf({ transcript }: ActiveRun): ContextStatus {
  const tokens = transcriptTokens(transcript)
  return {
    message_count: transcript.length,
    estimated_tokens: tokens,
    context_pressure: tokens > HIGH_TOKENS ? 'high' : tokens > MEDIUM_TOKENS ? 'medium' : 'low',
  }
}

const KEPT = 256

/** The last status of runs that ended not long ago. */
export class SettledStatuses {
  readonly #kept = new Map<string, { readonly tenantId: string; readonly status: ContextStatus }>()

  keep(run: ActiveRun): void {
    this.#kept.delete(run.id)
    this.#kept.set(run.id, { tenantId: run.tenantId, status: statusOf(run) })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest)
  }

  of(tenantId: string, runId: string): ContextStatus | undefined {
    const kept = this.#kept.get(runId)
    return kept?.tenantId === tenantId ? kept.status : undefined
  }
}
