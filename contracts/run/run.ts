import { type Static, Type } from '@sinclair/typebox'
import { CostTotals } from './cost.js'
import type { RunPolicy } from './policy.js'
import { ParentContextHandoff, type RunRequest } from './request.js'
import { type UsageDetails, UsageTotals } from './usage.js'

export const RUN_STATUSES = [
  'queued',
  'running',
  'waiting_for_user',
  'waiting_for_approval',
  'completed',
  'failed',
  'cancelled',
] as const
export const RunStatus = Type.Union(RUN_STATUSES.map(status => Type.Literal(status)))
export type RunStatus = (typeof RUN_STATUSES)[number]

/** A status in which a run waits for somebody outside; it survives a restart with the same pending call. */
export type WaitingStatus = 'waiting_for_user' | 'waiting_for_approval'

/** A status no run leaves. */
export type SettledStatus = 'completed' | 'failed' | 'cancelled'

export const isSettled = (status: RunStatus): status is SettledStatus =>
  status === 'completed' || status === 'failed' || status === 'cancelled'

/** What a finished run amounted to, for people and follow-up prompts. */
export const Recap = Type.Object({
  goal: Type.String(),
  changed_files: Type.Array(Type.String()),
  tests_run: Type.Array(Type.String()),
  failure_cause: Type.String(),
  fix_pattern: Type.String(),
  useful_commands: Type.Array(Type.String()),
  next_continuation_prompt: Type.String(),
})
export type Recap = Readonly<Static<typeof Recap>>

const Time = Type.String({ description: 'RFC 3339, UTC.' })

/** The Run object of `GET /v1/runs/{id}`. */
export const Run = Type.Object({
  id: Type.String(),
  prompt: Type.String(),
  model: Type.String(),
  provider_name: Type.Optional(Type.String()),
  status: RunStatus,
  output: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
  parent_context_handoff: Type.Optional(ParentContextHandoff),
  usage_totals: Type.Optional(UsageTotals),
  cost_totals: Type.Optional(CostTotals),
  tenant_id: Type.Optional(Type.String()),
  conversation_id: Type.Optional(Type.String()),
  agent_id: Type.Optional(Type.String()),
  recap: Type.Optional(Recap),
  created_at: Time,
  updated_at: Time,
})
export type Run = Readonly<Static<typeof Run>>

/** `GET /v1/runs/{id}/summary`. */
export const RunSummary = Type.Object({
  run_id: Type.String(),
  status: RunStatus,
  steps_taken: Type.Integer(),
  total_prompt_tokens: Type.Integer(),
  total_completion_tokens: Type.Integer(),
  total_cost_usd: Type.Number(),
  cost_status: Type.String(),
  tool_calls: Type.Array(Type.Object({ tool_name: Type.String(), step: Type.Integer() })),
  cache_hit_rate: Type.Number(),
  error: Type.Optional(Type.String()),
})
export type RunSummary = Readonly<Static<typeof RunSummary>>

/** How far a run has come; written with every settled step, so that a restart goes on from there. */
export interface RunProgress {
  /** The step the run is in; 0 before the first. */
  readonly step: number
  /** Model turns answered. */
  readonly turns: number
  /** Turns requested, as the summary counts steps. */
  readonly requested: number
  readonly cached_prompt_tokens: number
  /** Sums of the detail counters that were reported; absent in records of before they were kept. */
  readonly usage_details?: UsageDetails
  readonly tool_calls: readonly { readonly tool_name: string; readonly step: number }[]
  /** Exact running cost, a decimal count of 1e-12 US dollars. */
  readonly cost_pico_usd: string
  /** The next event number. Numbers of one run start at 0 and have no holes, also across restarts. */
  readonly next_seq: number
}

/** A run as stores keep it: the public object plus what is needed to go on with it. Replaced as a whole, never mutated. */
export interface RunRecord
  extends Omit<Run, 'tenant_id' | 'conversation_id' | 'agent_id' | 'usage_totals' | 'cost_totals'> {
  readonly tenant_id: string
  readonly conversation_id: string
  readonly agent_id: string
  readonly usage_totals: UsageTotals
  readonly cost_totals: CostTotals
  readonly request: RunRequest
  readonly policy: RunPolicy
  readonly progress: RunProgress
  /** The public part of the key that started it; never taken from a body. */
  readonly initiator_api_key_prefix?: string
  /** With auth off: the tenant the request named. Shown in place of `tenant_id`, decides nothing. */
  readonly tenant_label?: string
  /** The run this one continues. */
  readonly previous_run_id?: string
  /** Where the run works, once its workspace is provisioned. */
  readonly workspace?: { readonly root: string; readonly extra_dirs: readonly string[] }
}
