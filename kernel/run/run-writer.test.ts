import { expect, onTestFinished, test, vi } from 'vitest'
import { Failure } from '#contracts/errors'
import type { RunRecord } from '#contracts/run/run'
import type { RunChange, RunStore } from '#contracts/store/run-store'
import { memoryLog } from '#test/kit/memory-log'
import { RunWriter } from './run-writer.js'

const event = (seq: number) => ({ seq, type: 'assistant.message.delta', data: '{}' })

/** A store whose commits answer as told, one after another; afterwards they succeed. */
function writerOver(answers: readonly (Error | Promise<void>)[] = []) {
  const attempts: RunChange[] = []
  const committed: RunChange[] = []
  const lost: unknown[] = []
  const rest = [...answers]
  const store = {
    async commit(_hold: unknown, change: RunChange) {
      attempts.push(change)
      const answer = rest.shift()
      if (answer instanceof Error) throw answer
      await answer
    },
  } as unknown as RunStore
  const writer = new RunWriter({
    store,
    hold: { runId: 'run_1', fence: 1 },
    record: () => ({ id: 'run_1' }) as RunRecord,
    committed: change => committed.push(change),
    lost: error => lost.push(error),
    log: memoryLog([]),
  })
  return { writer, attempts, committed, lost }
}
const seqs = (changes: readonly RunChange[]) => changes.map(({ events = [] }) => events.map(({ seq }) => seq))

test('what comes together is one unit', async () => {
  const { writer, committed } = writerOver()
  writer.event(event(0))
  writer.event(event(1))
  writer.journal({ kind: 'intent', step: 1, call_id: 'a' })
  writer.touch()
  await writer.durable()
  expect(committed).toEqual([
    { events: [event(0), event(1)], journal: [{ kind: 'intent', step: 1, call_id: 'a' }], record: { id: 'run_1' } },
  ])
})

test('what gathers may linger for the commit that follows at once, but no longer than it would gather anew', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { writer, committed } = writerOver()
  writer.event(event(0))
  await vi.advanceTimersByTimeAsync(3)
  writer.linger()
  await vi.advanceTimersByTimeAsync(3)
  expect(seqs(committed)).toEqual([])
  writer.event(event(1))
  await writer.durable()
  expect(seqs(committed)).toEqual([[0, 1]])
  await vi.advanceTimersByTimeAsync(10)
  writer.event(event(2))
  writer.linger()
  await vi.advanceTimersByTimeAsync(4)
  expect(seqs(committed)).toEqual([[0, 1], [2]])
})

test('what comes while a unit is in flight is the next one, and a waiter gets both', async () => {
  let finish = () => {}
  const { writer, committed } = writerOver([new Promise<void>(resolve => (finish = resolve))])
  writer.event(event(0))
  const first = writer.durable()
  writer.event(event(1))
  const second = writer.durable()
  finish()
  await Promise.all([first, second])
  expect(seqs(committed)).toEqual([[0], [1]])
})

test('a store that cannot take writes is asked again, with the same unit, until it can', async () => {
  const unavailable = new Failure('store_unavailable', 'disk full')
  const { writer, attempts, committed } = writerOver([unavailable, unavailable])
  writer.event(event(0))
  await writer.durable()
  expect(seqs(attempts)).toEqual([[0], [0], [0]])
  expect(seqs(committed)).toEqual([[0]])
})

test('a run held by somebody else is told once and writes nothing more', async () => {
  const { writer, attempts, committed, lost } = writerOver([new Failure('fenced', 'newer holder')])
  writer.event(event(0))
  await expect(writer.durable()).rejects.toThrow('run lost')
  writer.event(event(1))
  await expect(writer.durable()).rejects.toThrow('run lost')
  expect([attempts.length, committed.length, lost.length]).toEqual([1, 0, 1])
})

test('emitters are asked to wait while much is uncommitted', async () => {
  const { writer } = writerOver()
  writer.event({ ...event(0), data: 'x'.repeat(300_000) })
  const drained = writer.drained()
  expect(drained).toBeInstanceOf(Promise)
  await drained
  expect(writer.drained()).toBeUndefined()
})
