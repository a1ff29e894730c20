import { expect, test } from 'vitest'
import type { ModelAnswer, ModelCandidate } from '#contracts/model/client'
import type { RunRecord } from '#contracts/run/run'
import { NO_USAGE } from '#contracts/run/usage'
import { Ledger, NO_PROGRESS } from './ledger.js'

const FRESH = {
  progress: NO_PROGRESS,
  usage_totals: { prompt_tokens_total: 0, completion_tokens_total: 0, total_tokens: 0, last_turn_tokens: 0 },
  cost_totals: { cost_usd_total: 0, last_turn_cost_usd: 0, cost_status: 'pending' },
} as RunRecord

const candidate = {
  provider: 'acme',
  model: 'm',
  rates: { inputPerMillionUsd: 0.1, outputPerMillionUsd: 0.7, cacheWritePerMillionUsd: 0.13 },
} as ModelCandidate

const answerWith = (usage: ModelAnswer['usage']): ModelAnswer => ({
  kind: 'answered',
  text: 'x',
  toolCalls: [],
  finish: 'stop',
  ...(usage && { usage }),
})

const record = (ledger: Ledger): RunRecord =>
  JSON.parse(
    JSON.stringify({
      ...FRESH,
      progress: ledger.progress(7),
      usage_totals: ledger.usageTotals,
      cost_totals: ledger.costTotals,
    }),
  )

test('a restart loses no counter and no digit', () => {
  const turn = answerWith({
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    cached_prompt_tokens: 30,
    cache_write_prompt_tokens: 40,
    reasoning_tokens: 5,
    input_audio_tokens: 2,
    output_audio_tokens: 3,
  })
  const unbroken = new Ledger(FRESH)
  unbroken.book(turn, candidate)
  const restarted = new Ledger(record(unbroken))
  expect(restarted.usage).toEqual(unbroken.usage)
  unbroken.book(turn, candidate)
  restarted.book(turn, candidate)
  expect(restarted.usage).toEqual(unbroken.usage)
  expect(record(restarted)).toEqual(record(unbroken))
})

test('a counter that no provider reported is not made up by a restart, and one it reported as 0 stays', () => {
  const ledger = new Ledger(FRESH)
  ledger.book(answerWith(undefined), candidate)
  expect(new Ledger(record(ledger)).usage).toEqual(NO_USAGE)
  ledger.book(answerWith({ ...NO_USAGE, cached_prompt_tokens: 0 }), candidate)
  expect(new Ledger(record(ledger)).usage).toEqual({ ...NO_USAGE, cached_prompt_tokens: 0 })
})

test('a record of before the details were kept still counts what it has', () => {
  const progress = { ...NO_PROGRESS, cached_prompt_tokens: 4 }
  expect(new Ledger({ ...FRESH, progress }).usage).toEqual({ ...NO_USAGE, cached_prompt_tokens: 4 })
})
