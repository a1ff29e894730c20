import { describe, expect, test } from 'vitest'
import type { RunStore } from '#contracts/store/run-store'
import { aRun } from './samples.js'

const OWNER = { owner: 'daemon-1' }

/** What `RunStore` promises about letters. */
export function describeMailbox(store: () => RunStore, reopened: () => Promise<boolean>): void {
  describe('letters', () => {
    test('wait in order until a change consumes them, and then are gone for good', async () => {
      await store().create(aRun('a'), {}, OWNER)
      for (const body of ['one', { two: 2 }, undefined]) await store().post('default', 'a', { kind: 'steer', body })
      const waiting = await store().letters('a')
      expect(waiting.map(({ kind, body }) => ({ kind, body }))).toEqual([
        { kind: 'steer', body: 'one' },
        { kind: 'steer', body: { two: 2 } },
        { kind: 'steer', body: undefined },
      ])
      await store().commit({ runId: 'a', fence: 1 }, { consumed: [waiting[0]!.id, waiting[2]!.id] })
      await reopened()
      expect(await store().letters('a')).toEqual([waiting[1]])
    })

    test('of fifty posts with one key exactly one wins, also after it was consumed', async () => {
      await store().create(aRun('a'), {}, OWNER)
      const posts = Array.from({ length: 50 }, (_, body) =>
        store().post('default', 'a', { kind: 'approve', key: 'call-1', body }),
      )
      const kinds = (await Promise.all(posts)).map(({ kind }) => kind)
      expect(kinds).toEqual(['posted', ...Array(49).fill('taken')])
      const [letter] = await store().letters('a')
      expect(letter).toEqual({ id: letter!.id, kind: 'approve', key: 'call-1', body: 0 })
      await store().commit({ runId: 'a', fence: 1 }, { consumed: [letter!.id] })
      expect(await store().letters('a')).toEqual([])
      await reopened()
      expect(await store().post('default', 'a', { kind: 'approve', key: 'call-1' })).toEqual({ kind: 'taken' })
      expect(await store().post('default', 'a', { kind: 'approve', key: 'call-2' })).toEqual({ kind: 'posted' })
    })

    test('a limit counts the letters of that kind that still wait', async () => {
      await store().create(aRun('a'), {}, OWNER)
      const post = (kind: string) => store().post('default', 'a', { kind, limit: 2 })
      const kinds = (await Promise.all([post('steer'), post('steer'), post('steer'), post('cancel')])).map(p => p.kind)
      expect(kinds).toEqual(['posted', 'posted', 'full', 'posted'])
      const [first] = await store().letters('a')
      await store().commit({ runId: 'a', fence: 1 }, { consumed: [first!.id] })
      expect(await post('steer')).toEqual({ kind: 'posted' })
    })

    test('are refused by status: settled by default, else all but the named ones', async () => {
      await store().create(aRun('a'), {}, OWNER)
      const answer = { kind: 'answer', whenStatus: ['waiting_for_user'] } as const
      expect(await store().post('default', 'a', answer)).toEqual({ kind: 'refused', status: 'running' })
      const hold = { runId: 'a', fence: 1 }
      await store().commit(hold, { record: { ...aRun('a'), status: 'waiting_for_user' } })
      expect(await store().post('default', 'a', answer)).toEqual({ kind: 'posted' })
      await store().commit(hold, { record: { ...aRun('a'), status: 'cancelled' } })
      expect(await store().post('default', 'a', { kind: 'steer' })).toEqual({ kind: 'refused', status: 'cancelled' })
      const late = { kind: 'after', whenStatus: ['cancelled'] } as const
      expect(await store().post('default', 'a', late)).toEqual({ kind: 'posted' })
    })

    test('an id is never given out twice', async () => {
      await store().create(aRun('a'), {}, OWNER)
      await store().post('default', 'a', { kind: 'steer', body: 1 })
      const [first] = await store().letters('a')
      await store().commit({ runId: 'a', fence: 1 }, { consumed: [first!.id] })
      await store().post('default', 'a', { kind: 'steer', body: 2 })
      await store().commit({ runId: 'a', fence: 1 }, { consumed: [first!.id] })
      expect((await store().letters('a')).map(({ body }) => body)).toEqual([2])
    })
  })
}
