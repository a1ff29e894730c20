import type { Run, RunRecord, RunSummary } from '#contracts/run/run'

/** The Run object: nothing of a record that is not for callers. */
export function publicRun(run: RunRecord): Run {
  return {
    id: run.id,
    prompt: run.prompt,
    model: run.model,
    ...(run.provider_name && { provider_name: run.provider_name }),
    status: run.status,
    ...(run.output && { output: run.output }),
    ...(run.error && { error: run.error }),
    ...(run.parent_context_handoff && { parent_context_handoff: run.parent_context_handoff }),
    usage_totals: run.usage_totals,
    cost_totals: run.cost_totals,
    tenant_id: run.tenant_label ?? run.tenant_id,
    conversation_id: run.conversation_id,
    agent_id: run.agent_id,
    ...(run.recap && { recap: run.recap }),
    created_at: run.created_at,
    updated_at: run.updated_at,
  }
}

/** A row of the run list: the run without its totals. */
export function listItem(run: RunRecord): Omit<Run, 'usage_totals' | 'cost_totals' | 'parent_context_handoff'> {
  const { usage_totals, cost_totals, parent_context_handoff, ...item } = publicRun(run)
  return item
}

/** The summary of a finished run. */
export function summaryOf(run: RunRecord): RunSummary {
  const { usage_totals: usage, cost_totals: cost, progress } = run
  return {
    run_id: run.id,
    status: run.status,
    steps_taken: progress.requested,
    total_prompt_tokens: usage.prompt_tokens_total,
    total_completion_tokens: usage.completion_tokens_total,
    total_cost_usd: cost.cost_usd_total,
    cost_status: cost.cost_status,
    tool_calls: [...progress.tool_calls],
    cache_hit_rate: usage.prompt_tokens_total > 0 ? progress.cached_prompt_tokens / usage.prompt_tokens_total : 0,
    ...(run.error && { error: run.error }),
  }
}
