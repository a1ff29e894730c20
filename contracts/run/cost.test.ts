import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePicoUsd, priceOf, type Rates, toUsd } from './cost.js'
import type { Usage } from './usage.js'

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

/** A rate as a person writes it, up to six decimals, together with the exact millionths of a dollar it stands for. */
const rate = fc.nat(200_000_000).map(micro => ({ micro: BigInt(micro), usd: micro / 1e6 }))
const tokens = fc.nat(2_000_000)
const priced = fc.record({ input: rate, output: rate, read: fc.option(rate), write: fc.option(rate) })
const turn = fc.record({ prompt: tokens, completion: tokens, cached: fc.option(tokens), written: fc.option(tokens) })

type Priced = typeof priced extends fc.Arbitrary<infer T> ? T : never
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never

const ratesOf = ({ input, output, read, write }: Priced): Rates => ({
  inputPerMillionUsd: input.usd,
  outputPerMillionUsd: output.usd,
  ...(read && { cacheReadPerMillionUsd: read.usd }),
  ...(write && { cacheWritePerMillionUsd: write.usd }),
})

const usageOf = ({ prompt, completion, cached, written }: Turn): Usage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached !== null && { cached_prompt_tokens: cached }),
  ...(written !== null && { cache_write_prompt_tokens: written }),
})

/** Token by token: each prompt token is read from a cache, put into one, or neither, and has one price. */
function exactMicroPerMillion({ prompt, completion, cached, written }: Turn, prices: Priced): bigint {
  const least = (a: number, b: number) => (a < b ? a : b)
  const read = prices.read && prices.read.micro > 0n ? least(cached ?? 0, prompt) : 0
  const put = prices.write && prices.write.micro > 0n ? least(written ?? 0, prompt - read) : 0
  const plain = prompt - read - put
  return (
    BigInt(plain) * prices.input.micro +
    BigInt(read) * (prices.read?.micro ?? 0n) +
    BigInt(put) * (prices.write?.micro ?? 0n) +
    BigInt(completion) * prices.output.micro
  )
}

/** A fraction over ten to the twelfth as decimal text, by long division. */
function decimalText(numerator: bigint): string {
  const whole = numerator / 10n ** 12n
  let rest = numerator % 10n ** 12n
  let digits = ''
  for (let place = 0; place < 12; place++) {
    rest *= 10n
    digits += String(rest / 10n ** 12n)
    rest %= 10n ** 12n
  }
  return `${whole}.${digits}`
}

test('the price of any turn is the exact fraction, cached tokens included', () => {
  fc.assert(
    fc.property(turn, priced, (used, prices) => {
      expect(priceOf(usageOf(used), ratesOf(prices))).toBe(exactMicroPerMillion(used, prices))
    }),
  )
})

test('the sum of many turns is the nearest number to the exact total', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(turn, priced), { minLength: 1, maxLength: 200 }), turns => {
      const sum = turns.reduce((total, [used, prices]) => total + priceOf(usageOf(used), ratesOf(prices)), 0n)
      const exact = turns.reduce((total, [used, prices]) => total + exactMicroPerMillion(used, prices), 0n)
      expect(toUsd(sum)).toBe(Number(decimalText(exact)))
    }),
  )
})
