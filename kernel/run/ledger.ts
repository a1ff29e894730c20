import type { ModelAnswer, ModelCandidate } from '#contracts/model/client'
import { type CostStatus, type CostTotals, type PicoUsd, parsePicoUsd, priceOf, toUsd } from '#contracts/run/cost'
import type { RunProgress, RunRecord } from '#contracts/run/run'
import { addUsage, detailsOf, NO_USAGE, type Usage, type UsageTotals } from '#contracts/run/usage'

/** What one turn used and cost. */
export interface TurnPrice {
  readonly usage: Usage
  readonly isReported: boolean
  readonly costUsd: number
  readonly costStatus: CostStatus
  readonly pricingVersion?: string
}

/** A run's counters: tokens, money, steps, calls. Money is exact; the wire gets the nearest number. */
export class Ledger {
  step: number
  turns: number
  requested: number
  usage: Usage
  readonly toolCalls: { readonly tool_name: string; readonly step: number }[]
  #pico: PicoUsd
  #last: { usage: Usage; costUsd: number }
  #costStatus: CostStatus
  #pricingVersion: string | undefined

  constructor(record: RunRecord) {
    const { progress, usage_totals: totals, cost_totals: costs } = record
    this.step = progress.step
    this.turns = progress.turns
    this.requested = progress.requested
    this.toolCalls = [...progress.tool_calls]
    const cached = progress.cached_prompt_tokens
    this.usage = {
      prompt_tokens: totals.prompt_tokens_total,
      completion_tokens: totals.completion_tokens_total,
      total_tokens: totals.total_tokens,
      ...(progress.usage_details ?? (cached > 0 && { cached_prompt_tokens: cached })),
    }
    this.#pico = BigInt(progress.cost_pico_usd)
    this.#last = { usage: { ...NO_USAGE, total_tokens: totals.last_turn_tokens }, costUsd: costs.last_turn_cost_usd }
    this.#costStatus = costs.cost_status
    this.#pricingVersion = costs.pricing_version
  }

  /** Books an answered turn. */
  book(answer: ModelAnswer, candidate: ModelCandidate): TurnPrice {
    const usage = answer.usage ?? NO_USAGE
    const { pico, status } = priceTurn(answer, candidate)
    this.turns++
    this.usage = addUsage(this.usage, usage)
    this.#pico += pico
    this.#costStatus = status
    this.#last = { usage, costUsd: toUsd(pico) }
    if (status === 'available' && candidate.rates?.version) this.#pricingVersion = candidate.rates.version
    return {
      usage,
      isReported: answer.usage !== undefined,
      costUsd: this.#last.costUsd,
      costStatus: status,
      ...(this.#pricingVersion && { pricingVersion: this.#pricingVersion }),
    }
  }

  /** Books an answer that was no turn of the run: it is paid for, and that is all. */
  bookAside(answer: ModelAnswer, candidate: ModelCandidate): void {
    this.usage = addUsage(this.usage, answer.usage ?? NO_USAGE)
    this.#pico += priceTurn(answer, candidate).pico
  }

  get costUsd(): number {
    return toUsd(this.#pico)
  }

  get usageTotals(): UsageTotals {
    return {
      prompt_tokens_total: this.usage.prompt_tokens,
      completion_tokens_total: this.usage.completion_tokens,
      total_tokens: this.usage.total_tokens,
      last_turn_tokens: this.#last.usage.total_tokens,
    }
  }

  get costTotals(): CostTotals {
    return {
      cost_usd_total: this.costUsd,
      last_turn_cost_usd: this.#last.costUsd,
      cost_status: this.#costStatus,
      ...(this.#pricingVersion && { pricing_version: this.#pricingVersion }),
    }
  }

  progress(nextSeq: number): RunProgress {
    const details = detailsOf(this.usage)
    return {
      step: this.step,
      turns: this.turns,
      requested: this.requested,
      cached_prompt_tokens: details.cached_prompt_tokens ?? 0,
      ...(Object.keys(details).length > 0 && { usage_details: details }),
      tool_calls: this.toolCalls,
      cost_pico_usd: this.#pico.toString(),
      next_seq: nextSeq,
    }
  }
}

/** Progress of a run that has not begun. */
export const NO_PROGRESS: RunProgress = Object.freeze({
  step: 0,
  turns: 0,
  requested: 0,
  cached_prompt_tokens: 0,
  tool_calls: [],
  cost_pico_usd: '0',
  next_seq: 0,
})

function priceTurn(answer: ModelAnswer, candidate: ModelCandidate): { pico: PicoUsd; status: CostStatus } {
  if (answer.costUsd !== undefined)
    return { pico: parsePicoUsd(answer.costUsd), status: answer.costStatus ?? 'available' }
  if (answer.costStatus !== undefined) return { pico: 0n, status: answer.costStatus }
  if (!answer.usage) return { pico: 0n, status: 'provider_unreported' }
  if (!candidate.rates) return { pico: 0n, status: 'unpriced_model' }
  return { pico: priceOf(answer.usage, candidate.rates), status: 'available' }
}
