import { expect, test } from 'vitest'
import { RunQueue } from './run-queue.js'

/** Work that ends when told. */
function held() {
  let end = () => {}
  let hasStarted = false
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  return {
    work: () => {
      hasStarted = true
      return ended
    },
    end: async () => {
      end()
      await ended
      await new Promise(setImmediate)
    },
    get hasStarted() {
      return hasStarted
    },
  }
}

test('a place is taken when it is reserved, so three that come together share one', () => {
  const queue = new RunQueue(() => 1)
  expect([queue.reserve(), queue.reserve(), queue.reserve()].map(({ mustWait }) => mustWait)).toEqual([
    false,
    true,
    true,
  ])
  expect(queue.waiting).toBe(2)
})

test('first come, first served, also before those that come while a place is free again', async () => {
  const queue = new RunQueue(() => 1)
  const [first, second, third] = [held(), held(), held()]
  queue.enter(queue.reserve(), 'a', first.work)
  queue.enter(queue.reserve(), 'b', second.work)
  const late = queue.reserve()
  expect(late.mustWait).toBe(true)
  await first.end()
  expect([second.hasStarted, third.hasStarted]).toEqual([true, false])
  queue.enter(late, 'c', third.work)
  await second.end()
  expect(third.hasStarted).toBe(true)
})

test('a place that was given back goes to who waits', () => {
  const queue = new RunQueue(() => 1)
  const place = queue.reserve()
  const waiting = held()
  queue.enter(queue.reserve(), 'b', waiting.work)
  queue.giveBack(place)
  expect(waiting.hasStarted).toBe(true)
})

test('a raised limit lets in as many as it allows', async () => {
  let limit = 1
  const queue = new RunQueue(() => limit)
  const runs = [held(), held(), held(), held()]
  for (const [index, run] of runs.entries()) queue.enter(queue.reserve(), `${index}`, run.work)
  limit = 3
  await runs[0]?.end()
  expect(runs.map(({ hasStarted }) => hasStarted)).toEqual([true, true, true, true])
})

test('a waiting run may be hurried, whatever the limit', () => {
  const queue = new RunQueue(() => 1)
  const [first, second] = [held(), held()]
  queue.enter(queue.reserve(), 'a', first.work)
  queue.enter(queue.reserve(), 'b', second.work)
  queue.hurry('b')
  expect([second.hasStarted, queue.waiting]).toEqual([true, 0])
})
