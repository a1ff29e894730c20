import type { ActiveRun } from '#contracts/run/active-run'
import { estimateTokens, transcriptTokens } from '#contracts/run/token-estimate'
import type { MachineFacts } from './machine.js'

type Line = readonly [key: string, value: string | number | undefined]

/** The block of `key: value` lines that is sent behind the transcript and never stored. */
export function runtimeBlock(run: ActiveRun, system: string, machine: MachineFacts, nowMs: number): string {
  const { usageTotals: usage, costTotals: cost } = run
  const lines: readonly Line[] = [
    ['run_started_at_utc', new Date(run.startedAtMs).toISOString()],
    ['current_time_utc', new Date(nowMs).toISOString()],
    ['elapsed_seconds', Math.max(0, Math.floor((nowMs - run.startedAtMs) / 1000))],
    ['step', run.step],
    ['prompt_tokens_total', usage.prompt_tokens_total],
    ['completion_tokens_total', usage.completion_tokens_total],
    ['total_tokens', usage.total_tokens],
    ['last_turn_tokens', usage.last_turn_tokens],
    ['cost_usd_total', cost.cost_usd_total.toFixed(6)],
    ['last_turn_cost_usd', cost.last_turn_cost_usd.toFixed(6)],
    ['cost_status', cost.cost_status],
    ['estimated_context_tokens', estimateTokens(system) + transcriptTokens(run.transcript)],
    ['message_count', run.transcript.length],
  ]
  return tagged('runtime_context', [...lines.flatMap(shown), tagged('environment', environment(run, machine))])
}

function environment(run: ActiveRun, machine: MachineFacts): readonly string[] {
  const rates = run.modelFacts?.rates
  const price = (usd: number | undefined): string | undefined => (usd === undefined ? undefined : `$${usd.toFixed(2)}`)
  const lines: readonly Line[] = [
    ['model', run.model],
    ['input_price_per_million_tokens', price(rates?.inputPerMillionUsd)],
    ['output_price_per_million_tokens', price(rates?.outputPerMillionUsd)],
    ['working_dir', run.workspace.root],
    ...machine,
  ]
  return lines.flatMap(shown)
}

const tagged = (name: string, lines: readonly string[]): string => `<${name}>\n${lines.join('\n')}\n</${name}>`

/** A value is one line, whatever a path or a host name holds; one that is not known has none. */
const shown = ([key, value]: Line): readonly string[] =>
  value === undefined || value === '' ? [] : [`${key}: ${String(value).replaceAll(/[\p{Cc}<>]/gu, ' ')}`]
