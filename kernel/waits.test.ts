import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { unlessAborted, withLimit } from './waits.js'

test('an aborted wait gives the reason, and what the work does later is nobody’s rejection', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  let fail = (_error: Error): void => undefined
  const work = () =>
    new Promise<void>((_, reject) => {
      fail = reject
    })
  const stop = new AbortController()
  const waiting = unlessAborted(work(), stop.signal)
  const late = fail
  stop.abort('enough')
  await expect(waiting).rejects.toBe('enough')
  await expect(unlessAborted(work(), stop.signal)).rejects.toBe('enough')
  for (const each of [late, fail]) each(new Error('too late'))
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

test('work that settles leaves no listener behind', async () => {
  const stop = new AbortController()
  await unlessAborted(Promise.resolve(), stop.signal)
  await new Promise(setImmediate)
  expect(getEventListeners(stop.signal, 'abort')).toEqual([])
})

test('a limit fails with what took too long', async () => {
  await expect(withLimit(new Promise(() => undefined), 1, 'this')).rejects.toMatchObject({
    code: 'timeout',
    message: 'this took longer than 1 ms',
  })
  expect(await withLimit(Promise.resolve('done'), 60_000, 'that')).toBe('done')
})
