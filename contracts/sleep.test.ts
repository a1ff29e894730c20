import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { sleep } from './sleep.js'

test('a timer that ran out leaves no listener behind; one that is stopped gives the reason', async () => {
  const stop = new AbortController()
  await sleep(1, stop.signal)
  expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  const asleep = sleep(60_000, stop.signal)
  stop.abort('late')
  await expect(asleep).rejects.toBe('late')
  await expect(sleep(60_000, stop.signal)).rejects.toBe('late')
})
