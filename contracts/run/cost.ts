import { type Static, Type } from '@sinclair/typebox'
import type { Usage } from './usage.js'

export const CostStatus = Type.Union([
  Type.Literal('available'),
  Type.Literal('unpriced_model'),
  Type.Literal('provider_unreported'),
  Type.Literal('pending'),
])
export type CostStatus = Static<typeof CostStatus>

/** Costs of a run as the Run object and terminal events carry them; US dollars. */
export const CostTotals = Type.Object({
  cost_usd_total: Type.Number({ minimum: 0 }),
  last_turn_cost_usd: Type.Number({ minimum: 0 }),
  cost_status: CostStatus,
  pricing_version: Type.Optional(Type.String()),
})
export type CostTotals = Readonly<Static<typeof CostTotals>>

/** Rates of one model in US dollars per million tokens. */
export interface Rates {
  readonly inputPerMillionUsd: number
  readonly outputPerMillionUsd: number
  readonly cacheReadPerMillionUsd?: number
  readonly cacheWritePerMillionUsd?: number
  readonly version?: string
}

/** An amount of money as a whole number of 1e-12 US dollars, so that sums are exact. */
export type PicoUsd = bigint

const PICO_DIGITS = 12
const PER_MILLION_DIGITS = 6

/** Reads a non-negative decimal number exactly as it prints (0.1 is one tenth), up to 12 decimals. */
export function parsePicoUsd(usd: number): PicoUsd {
  return scaled(usd, PICO_DIGITS)
}

/** The nearest number of US dollars, for the wire. */
export function toUsd(amount: PicoUsd): number {
  const text = amount.toString().padStart(PICO_DIGITS + 1, '0')
  return Number(`${text.slice(0, -PICO_DIGITS)}.${text.slice(-PICO_DIGITS)}`)
}

/**
 * `tokens / 1,000,000 × rate`, exact. Prompt tokens read from or written to a cache are priced by the model's rates for that,
 * where it has any above 0, and are then no input.
 */
export function priceOf(usage: Usage, rates: Rates): PicoUsd {
  const { inputPerMillionUsd, outputPerMillionUsd, cacheReadPerMillionUsd = 0, cacheWritePerMillionUsd = 0 } = rates
  const read = cacheReadPerMillionUsd > 0 ? Math.min(usage.cached_prompt_tokens ?? 0, usage.prompt_tokens) : 0
  const left = usage.prompt_tokens - read
  const written = cacheWritePerMillionUsd > 0 ? Math.min(usage.cache_write_prompt_tokens ?? 0, left) : 0
  return (
    BigInt(left - written) * perToken(inputPerMillionUsd) +
    BigInt(read) * perToken(cacheReadPerMillionUsd) +
    BigInt(written) * perToken(cacheWritePerMillionUsd) +
    BigInt(usage.completion_tokens) * perToken(outputPerMillionUsd)
  )
}

/** A rate per million tokens is, scaled by 1e6, the price of one token in pico-dollars. */
const perToken = (ratePerMillionUsd: number): PicoUsd => scaled(ratePerMillionUsd, PER_MILLION_DIGITS)

function scaled(value: number, digits: number): bigint {
  if (!Number.isFinite(value) || value < 0) return 0n
  const [mantissa = '0', exponent = '0'] = value.toString().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const shift = digits + Number(exponent) - fraction.length
  const units = BigInt(whole + fraction)
  return shift >= 0 ? units * 10n ** BigInt(shift) : roundedDivision(units, 10n ** BigInt(-shift))
}

const roundedDivision = (value: bigint, by: bigint): bigint => (value + by / 2n) / by
