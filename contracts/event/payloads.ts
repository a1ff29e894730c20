import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { CostStatus, CostTotals } from '../run/cost.js'
import { Usage, UsageTotals } from '../run/usage.js'

const S = Type.String()
const I = Type.Integer()
const N = Type.Number()
const B = Type.Boolean()
const names = Type.Array(S)
const maybe = <T extends TSchema>(schema: T) => Type.Optional(schema)
const of = <P extends TProperties>(properties: P) => Type.Object(properties)

const call = { call_id: S, tool: S }
const asked = { ...call, recipe_step: maybe(S) }
/** `…_by`: the public prefix of the key that answered; absent with auth off, and where nobody did. */
const decided = { ...asked, decided_by: maybe(S) }
const totals = { usage_totals: UsageTotals, cost_totals: CostTotals }
const hook = { stage: S, hook: S, step: I }
const toolHook = { stage: S, hook: S, ...call }
const workspace = { workspace_type: S, workspace_path: S }
const callback = of({
  callback_id: S,
  conversation_id: S,
  state: S,
  delay: S,
  prompt: S,
  fires_at: S,
  created_at: S,
  run_id: maybe(S),
  attempt: maybe(I),
  next_attempt_at: maybe(S),
  last_error: maybe(S),
})
const reserved = Type.Object({}, { description: 'Reserved: defined, never emitted.' })
const question = of({
  question: S,
  header: S,
  options: Type.Array(of({ label: S, description: S })),
  multiSelect: maybe(B),
})

/**
 * The 77 run event types and what their payloads carry besides the three injected fields (`schema_version`,
 * `conversation_id`, `step`). The list is the wire contract: names are never added, renamed or dropped.
 */
export const EVENT_PAYLOADS = {
  'run.started': of({ prompt: S, previous_run_id: maybe(S), tenant_id: maybe(S) }),
  'run.queued': of({ prompt: S }),
  'run.step.started': of({ step: I, step_start_ms: I }),
  'run.step.completed': of({ step: I, tool_calls: I, duration_ms: I }),
  'run.waiting_for_user': of({ ...call, questions: Type.Array(question), deadline_at: S }),
  'run.resumed': of({ ...call, answered_at: S, answered_by: maybe(S) }),
  'run.cost_limit_reached': of({ step: I, max_cost_usd: N, cumulative_cost_usd: N }),
  'run.completed': of({ output: S, ...totals }),
  'run.failed': of({ error: S, ...totals, reason: maybe(S), max_steps: maybe(I), max_turns: maybe(I) }),
  'run.cancelled': of(totals),
  'llm.turn.requested': of({ step: I }),
  'llm.turn.completed': of({ step: I, tool_calls: I, total_duration_ms: I, ttft_ms: I, provider: S }),
  'assistant.message.delta': of({ step: I, content: S }),
  'assistant.thinking.delta': of({ step: I, content: S }),
  'reasoning.complete': of({ text: S, tokens: I, step: I }),
  'assistant.message': of({ content: S }),
  'tool.call.started': of({ ...call, arguments: S }),
  'tool.call.completed': of({
    ...call,
    output: maybe(S),
    duration_ms: maybe(I),
    error: maybe(S),
    rewind_warning: maybe(S),
  }),
  'tool.call.delta': of({ step: I, index: I, call_id: S, tool: S, arguments: S }),
  'tool.activated': reserved,
  'tool.output.delta': of({ step: I, ...call, stream_index: I, content: S }),
  'tool.approval_required': of({ ...asked, arguments: S, deadline_at: S, checkpoint_id: maybe(S) }),
  'tool.approval_granted': of(decided),
  /** `message`: what a person said with it. `reason`: no person refused (`timeout`, `unattended`, `resumed`). */
  'tool.approval_denied': of({ ...decided, reason: maybe(S), message: maybe(S) }),
  'tool.call.blocked': of({ ...call, reason: S, skill: maybe(S) }),
  'conversation.continued': of({ conversation_id: S, prior_message_count: I }),
  'prompt.resolved': of({
    intent: S,
    model_profile: S,
    model_fallback: B,
    applied_behaviors: names,
    applied_talents: names,
    applied_skills: names,
    has_warnings: B,
  }),
  'prompt.warning': of({
    code: S,
    message: S,
    from_provider: maybe(S),
    to_provider: maybe(S),
    reason: maybe(S),
  }),
  'provider.resolved': of({ model: S, provider: S }),
  'memory.observe.started': of({ step: I }),
  'memory.observe.completed': of({ step: I, observed: B, reflected: B, observation: I }),
  'memory.observe.failed': of({ step: I, error: S }),
  'memory.reflection.completed': of({ step: I }),
  'usage.delta': of({
    step: I,
    usage_status: Type.Union([Type.Literal('provider_reported'), Type.Literal('provider_unreported')]),
    cost_status: CostStatus,
    turn_usage: Usage,
    turn_cost_usd: N,
    cumulative_usage: Usage,
    cumulative_cost_usd: N,
    pricing_version: S,
  }),
  'cost.anomaly': of({ step: I, anomaly_type: S, step_cost_usd: N, avg_cost_usd: N, threshold_multiplier: N }),
  'hook.started': of(hook),
  'hook.failed': of({ ...hook, error: S, mode: S, ignored: B }),
  'hook.completed': of({ ...hook, action: S, mutated: B, reason: S, duration_ms: I }),
  'tool_hook.started': of(toolHook),
  'tool_hook.failed': of({ ...toolHook, error: S, ignored: B }),
  'tool_hook.completed': of({ ...toolHook, mutated: B, decision: maybe(S), reason: maybe(S) }),
  'callback.scheduled': callback,
  'callback.fired': callback,
  'callback.canceled': callback,
  'skill.constraint.activated': of({ skill: S, allowed_tools: names, unrestricted: B }),
  'skill.constraint.deactivated': of({ skill: S, reason: S }),
  'meta.message.injected': of({ ...call, length: I }),
  'skill.fork.started': reserved,
  'skill.fork.completed': reserved,
  'skill.fork.failed': of({ skill: S, error: S }),
  'steering.received': of({ message: S }),
  'compact_history.completed': of({
    message_count: I,
    duration_ms: I,
    before_tokens: maybe(I),
    after_tokens: maybe(I),
    tokens_estimated: maybe(B),
  }),
  'error.context': Type.Object({}, { additionalProperties: true }),
  'auto_compact.started': of({ estimated_tokens: I, context_window: I, threshold: N, ratio: N, mode: S }),
  'auto_compact.completed': of({ before_tokens: I, after_tokens: I, mode: S, error: maybe(S) }),
  'tool.decision': of({
    step: I,
    call_sequence: I,
    call_sequence_id: S,
    available_tools: names,
    selected_tools: names,
  }),
  'tool.antipattern': of({ type: S, tool: S, call_count: I, step: I }),
  'tool.hook.mutation': of({ tool_call_id: S, hook: S, action: S, args_before: S, args_after: S }),
  'llm.request.snapshot': of({ step: I, prompt_hash: S, tool_names: names, memory_snippet: maybe(S) }),
  'llm.response.meta': of({ step: I, latency_ms: I, model_version: S }),
  'audit.action': of({ ...call, arguments: S, step: I }),
  'context.window.snapshot': of({
    step: I,
    provider_reported_tokens: I,
    provider_reported: B,
    estimated_total_tokens: I,
    max_context_tokens: I,
    usage_ratio: N,
    headroom_tokens: I,
    breakdown: of({
      system_prompt_tokens: I,
      conversation_tokens: I,
      tool_result_tokens: I,
      estimated: Type.Literal(true),
    }),
  }),
  'context.window.warning': of({
    step: I,
    usage_ratio: N,
    threshold: N,
    provider_reported: B,
    tokens_used: I,
    max_context_tokens: I,
  }),
  'causal.graph.snapshot': of({ step: I, graph: Type.Unknown() }),
  'context.reset': of({ reset_index: I, at_step: I, persist: Type.Unknown() }),
  'llm.empty_response.retry': of({ step: I, retry: I, max_retries: I }),
  'rule.injected': of({ rule_id: S, step: I, trigger_tool: S }),
  'recorder.drop_detected': of({ dropped_event_id: S, dropped_event_type: S, dropped_seq: I }),
  'workspace.provisioned': of(workspace),
  'workspace.destroyed': of({ ...workspace, error: maybe(S) }),
  'workspace.provision_failed': of({ workspace_type: S, error: S }),
  'profile.efficiency_suggestion': of({ profile_name: S, run_id: S, efficiency_score: N, steps: I, cost_usd: N }),
  'spawn_agent.started': reserved,
  'spawn_agent.completed': reserved,
  'task.completed': reserved,
  'step_budget.pressure': of({ step: I, steps_remaining: I, depth: I }),
  'max_turns.exhausted': of({ run_id: S, step: I, turn_count: I, max_turns: I }),
} as const

export type EventType = keyof typeof EVENT_PAYLOADS

/** What an emitter hands over; `schema_version` and `conversation_id` are added, and `step` where it is not given. */
export type EventPayload<T extends EventType> = Readonly<Static<(typeof EVENT_PAYLOADS)[T]>> & {
  readonly step?: number
}

export const EVENT_TYPES = Object.freeze(Object.keys(EVENT_PAYLOADS) as EventType[])

export type TerminalEventType = 'run.completed' | 'run.failed' | 'run.cancelled'

/** Events that end a run's stream. Exactly one of them stands in a run's log, and only callback events may follow. */
export const isTerminalEvent = (type: string): type is TerminalEventType =>
  type === 'run.completed' || type === 'run.failed' || type === 'run.cancelled'
