import { expect, test } from 'vitest'
import { Turnstile } from './turnstile.js'

const never = new AbortController().signal

test('no more than its places work at once, in the order they came, also after one failed', async () => {
  const turnstile = new Turnstile(2)
  const started: number[] = []
  const ends: (() => void)[] = []
  let inside = 0
  let most = 0
  const works = Array.from({ length: 6 }, (_, index) =>
    turnstile
      .run(async () => {
        started.push(index)
        most = Math.max(most, ++inside)
        await new Promise<void>(resolve => ends.push(resolve))
        inside--
        if (index === 1) throw new Error('broken')
        return index
      }, never)
      .catch(() => 'failed'),
  )
  const done = Promise.all(works)
  while (started.length < 6 || ends.length > 0) {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  expect([started, most, await done]).toEqual([[0, 1, 2, 3, 4, 5], 2, [0, 'failed', 2, 3, 4, 5]])
})

test('who gives up while waiting takes no place and blocks nobody', async () => {
  const turnstile = new Turnstile(1)
  let end = () => undefined as unknown
  const first = turnstile.run(() => new Promise<void>(resolve => (end = resolve as () => undefined)), never)
  const impatient = new AbortController()
  const given = turnstile.run(async () => 'never', impatient.signal).catch((reason: unknown) => reason)
  const second = turnstile.run(async () => 'second', never)
  impatient.abort('enough')
  expect(await given).toBe('enough')
  end()
  await first
  expect(await second).toBe('second')
  await expect(turnstile.run(async () => 'late', impatient.signal)).rejects.toBe('enough')
})
