import { expect, test } from 'vitest'
import { readBody } from './read-body.js'

const never = new AbortController().signal
const MANY = 1_000_000

/** A body that comes byte by byte, as a sender of tiny chunks may have it; tells how much memory was held at its end. */
function dripping(total: number) {
  const letters = Buffer.from('abcdefgh')
  const heapBefore = process.memoryUsage().heapUsed
  const seen = { grownBytes: 0 }
  async function* drip() {
    for (let at = 0; at < total; at++) yield letters.subarray(at % 8, (at % 8) + 1)
    seen.grownBytes = process.memoryUsage().heapUsed - heapBefore
  }
  return { drip: drip(), seen }
}

test('a body of a million tiny chunks takes the memory of its bytes', async () => {
  const { drip, seen } = dripping(MANY)
  const { bytes, isTruncated } = await readBody(drip, '', 50 * 1024 * 1024, never)
  expect([bytes.length, isTruncated]).toEqual([MANY, false])
  expect(Buffer.from(bytes).equals(Buffer.from('abcdefgh'.repeat(MANY / 8)))).toBe(true)
  expect(seen.grownBytes).toBeLessThan(50_000_000)
})

test('a body is cut at exactly the limit, and one that ends there is whole', async () => {
  const read = (total: number) => readBody(dripping(total).drip, '', 100_000, never)
  for (const [total, isCut] of [
    [99_999, false],
    [100_000, false],
    [100_001, true],
  ] as const) {
    const { bytes, isTruncated } = await read(total)
    expect([bytes.length, isTruncated]).toEqual([Math.min(total, 100_000), isCut])
  }
  expect(await readBody(dripping(0).drip, '', 10, never)).toEqual({ bytes: Buffer.alloc(0), isTruncated: false })
})
