import type { ActiveRun } from '#contracts/run/active-run'
import { estimateTokens, transcriptTokens } from '#contracts/run/token-estimate'
import type { MachineFacts } from './machine.js'

type Line = readonly [key: string, value: string | number | undefined]

export interface Surroundings {
  readonly system: string
  readonly machine: MachineFacts
  readonly notices: readonly string[]
  readonly nowMs: number
}

/** The block of `key: value` lines that is sent behind the transcript and never stored. */
export function runtimeBlock(run: ActiveRun, { system, machine, notices, nowMs }: Surroundings): string {
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
  return tagged('runtime_context', [
    ...lines.flatMap(shown),
    ...(notices.length > 0 ? [tagged('notices', notices.map(plain))] : []),
    tagged('environment', environment(run, machine)),
  ])
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

/** A value that is not known has no line. */
const shown = ([key, value]: Line): readonly string[] =>
  value === undefined || value === '' ? [] : [`${key}: ${plain(String(value))}`]

/** One line, whatever a path, a host name or a command holds, and no tag of ours. */
const plain = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029<>]/gu, ' ')
