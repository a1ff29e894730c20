import { expect, test } from 'vitest'
import type { StoredEvent } from '#contracts/event/envelope'
import { EventHub } from './hub.js'
import { RunLog } from './run-log.js'

const event = (seq: number, type = 'assistant.message.delta', size = 10): StoredEvent => ({
  seq,
  type,
  data: 'x'.repeat(size),
})
const events = (from: number, count: number, size?: number) =>
  Array.from({ length: count }, (_, index) => event(from + index, undefined, size))

test('readers at one place get the same bytes, made once', () => {
  const log = new RunLog('run_1', 'default', -1)
  log.append(events(0, 3), 1000)
  const page = log.page(-1)
  expect(log.page(-1)).toBe(page)
  expect(page).toMatchObject({ last: 2, isEnd: false })
  expect(page?.text.toString().match(/^id: /gm)).toHaveLength(3)
})

test('what was let go is not held, and the newest event always is', () => {
  const log = new RunLog('run_1', 'default', -1)
  log.append(events(0, 10, 100), 500)
  expect(log.bytes).toBeLessThanOrEqual(500)
  expect(log.page(-1)).toBeUndefined()
  expect(log.held(8, 10)?.map(({ seq }) => seq)).toEqual([9])
  log.append([event(10, undefined, 5000)], 500)
  expect(log.held(9, 10)?.map(({ seq }) => seq)).toEqual([10])
})

test('a page stops at its size; the next one goes on there', () => {
  const log = new RunLog('run_1', 'default', -1)
  log.append(events(0, 50, 10_000), 10_000_000)
  const seen: number[] = []
  for (let after = -1; after < 49; ) {
    const page = log.page(after)
    expect(page?.text.length).toBeLessThan(128 * 1024)
    after = page?.last ?? 49
    seen.push(after)
  }
  expect(seen.at(-1)).toBe(49)
  expect(seen.length).toBeGreaterThan(5)
})

test('a run of another tenant has no log here', () => {
  const hub = new EventHub()
  hub.open('run_1', 'acme', -1)
  expect([hub.find('acme', 'run_1')?.runId, hub.find('other', 'run_1')]).toEqual(['run_1', undefined])
})

test('every reader is woken, also when there are many', async () => {
  const hub = new EventHub()
  const log = hub.open('run_1', 'default', -1)
  let woken = 0
  for (let reader = 0; reader < 500; reader++) log.onAppend(() => woken++)
  hub.publish(log, 'talk', events(0, 1))
  await expect.poll(() => woken).toBe(500)
})
