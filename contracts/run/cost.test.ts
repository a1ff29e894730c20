import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePicoUsd, priceOf, toUsd } from './cost.js'

const usage = (prompt: number, completion: number, cached = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  cached_prompt_tokens: cached,
})

test('a turn costs tokens per million times the rate, to the last digit', () => {
  const rates = { inputPerMillionUsd: 0.435, outputPerMillionUsd: 0.87, cacheReadPerMillionUsd: 0.003625 }
  expect(toUsd(priceOf(usage(1_000_000, 0), rates))).toBe(0.435)
  expect(toUsd(priceOf(usage(3, 7), rates))).toBe(0.000007395)
  expect(priceOf(usage(1000, 0, 400), rates)).toBe(600n * 435_000n + 400n * 3_625n)
})

test('cached tokens cost the full rate where the model has no cache rate', () => {
  expect(priceOf(usage(1000, 0, 400), { inputPerMillionUsd: 1, outputPerMillionUsd: 1 })).toBe(1000n * 1_000_000n)
})

test('ten times ten cents is a dollar', () => {
  let sum = 0n
  for (let turn = 0; turn < 10; turn++) sum += parsePicoUsd(0.1)
  expect(toUsd(sum)).toBe(1)
})

test('what is read back is what was said, for any price up to twelve decimals', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), pico => {
      expect(parsePicoUsd(toUsd(pico))).toBe(pico)
    }),
  )
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('%d is no price', value => {
  expect(parsePicoUsd(value)).toBe(0n)
})

test('exponents are read as they print', () => {
  expect([parsePicoUsd(1e-7), parsePicoUsd(2.5e-9), parsePicoUsd(1e21)]).toEqual([100_000n, 2_500n, 10n ** 33n])
})
