import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RunRecord } from '#contracts/run/run'
import type { RunStore } from '#contracts/store/run-store'
import { describeMailbox } from './mailbox-contract.js'
import { describeRunReads } from './run-reads-contract.js'
import { aRun, eventsOf, type OpenStore, type StoreOpener, seqs } from './samples.js'

const OWNER = { owner: 'daemon-1' }
const settled = (run: RunRecord): RunRecord => ({ ...run, status: 'completed', output: 'done' })

/** Every promise of `RunStore`. `open` gives an empty store each time. */
export function describeRunStore(name: string, open: StoreOpener<RunStore>): void {
  describe(`${name} keeps the promises of a run store`, () => {
    let opened: OpenStore<RunStore>
    let store: RunStore
    const reopened = async () => {
      if (!opened.reopen) return false
      opened = await opened.reopen()
      store = opened.store
      return true
    }
    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })
    afterEach(() => opened.close())

    test('a created run is read back as it was, also after a restart', async () => {
      const run = aRun('a', { request: { prompt: 'x', tenant_id: 't' } as RunRecord['request'] })
      expect(await store.create(run, { events: eventsOf('a', 0, 2) }, OWNER)).toEqual({ kind: 'created', fence: 1 })
      expect(await store.read('default', 'a')).toEqual(run)
      await reopened()
      expect(await store.read('default', 'a')).toEqual(run)
      expect(await store.events('default', 'a', undefined, 10)).toEqual(eventsOf('a', 0, 2))
    })

    test('a run id is given out once', async () => {
      await store.create(aRun('a'), {}, OWNER)
      const idempotency = { key: 'k', fingerprint: 'f', expiresAt: store.now() + 60_000 }
      await expect(store.create(aRun('a', { prompt: 'other' }), {}, OWNER)).rejects.toMatchObject({ code: 'conflict' })
      await expect(store.create(aRun('a'), {}, { ...OWNER, idempotency })).rejects.toMatchObject({ code: 'conflict' })
      expect(await store.create(aRun('b'), {}, { ...OWNER, idempotency })).toEqual({ kind: 'created', fence: 1 })
      expect(await store.read('default', 'a')).toEqual(aRun('a'))
    })

    test('event numbers with a hole or a repetition are refused and change nothing', async () => {
      await expect(store.create(aRun('b'), { events: eventsOf('b', 1, 1) }, OWNER)).rejects.toMatchObject({
        code: 'conflict',
      })
      expect(await store.read('default', 'b')).toBeUndefined()
      await store.create(aRun('a'), { events: eventsOf('a', 0, 3) }, OWNER)
      const hold = { runId: 'a', fence: 1 }
      const wrong = [eventsOf('a', 4, 1), eventsOf('a', 2, 2), [...eventsOf('a', 3, 1), ...eventsOf('a', 5, 1)]]
      for (const events of wrong)
        await expect(store.commit(hold, { events, record: settled(aRun('a')) })).rejects.toMatchObject({
          code: 'conflict',
        })
      expect(await store.read('default', 'a')).toEqual(aRun('a'))
      await store.commit(hold, { events: eventsOf('a', 3, 2) })
      expect(await store.events('default', 'a', undefined, 100)).toEqual(eventsOf('a', 0, 5))
    })

    test('a refused change leaves nothing of itself behind', async () => {
      await store.create(aRun('a'), { events: eventsOf('a', 0, 1) }, OWNER)
      await store.post('default', 'a', { kind: 'steer', body: 'hello' })
      const [letter] = await store.letters('a')
      const change = {
        events: eventsOf('a', 1, 2),
        record: settled(aRun('a')),
        journal: [{ kind: 'note', key: 'k', value: 1 }] as const,
        consumed: [letter!.id],
      }
      await expect(store.commit({ runId: 'a', fence: 0 }, change)).rejects.toMatchObject({ code: 'fenced' })
      await expect(store.commit({ runId: 'nobody', fence: 1 }, change)).rejects.toMatchObject({ code: 'fenced' })
      const state = [
        seqs(await store.events('default', 'a', undefined, 10)),
        await store.read('default', 'a'),
        await store.letters('a'),
      ]
      expect(state).toEqual([[0], aRun('a'), [letter]])
    })

    test('a change is one unit: events, record, journal and letters arrive together', async () => {
      await store.create(aRun('a'), {}, OWNER)
      await store.post('default', 'a', { kind: 'steer', body: { text: 'left' } })
      const [letter] = await store.letters('a')
      const record = { ...aRun('a'), status: 'waiting_for_user' as const, output: 'so far' }
      const journal = [{ kind: 'intent', step: 1, call_id: 'c1' }] as const
      await store.commit(
        { runId: 'a', fence: 1 },
        { events: eventsOf('a', 0, 1), record, journal, consumed: [letter!.id] },
      )
      expect(await store.letters('a')).toEqual([])
      expect(await store.read('default', 'a')).toEqual(record)
      await store.release({ runId: 'a', fence: 1 })
      expect(await store.claim('next')).toEqual([{ record, fence: expect.any(Number), journal }])
    })

    test('changes of one run are applied in the order of the calls, awaited or not', async () => {
      await store.create(aRun('a'), {}, OWNER)
      const hold = { runId: 'a', fence: 1 }
      const counts = Array.from({ length: 40 }, (_, index) => index)
      await Promise.all(
        counts.map(index =>
          store.commit(hold, { events: eventsOf('a', index * 2, 2), record: { ...aRun('a'), output: `${index}` } }),
        ),
      )
      expect(await store.events('default', 'a', undefined, 1_000)).toEqual(eventsOf('a', 0, 80))
      expect(await store.read('default', 'a')).toMatchObject({ output: '39' })
    })

    test('a failing change of one run does not touch what others do at the same time', async () => {
      await store.create(aRun('a'), {}, OWNER)
      await store.create(aRun('b'), {}, OWNER)
      const outcomes = await Promise.allSettled([
        store.commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', 0, 1) }),
        store.commit({ runId: 'a', fence: 9 }, { events: eventsOf('a', 1, 1) }),
        store.commit({ runId: 'b', fence: 1 }, { events: eventsOf('b', 7, 1) }),
        store.commit({ runId: 'b', fence: 1 }, { events: eventsOf('b', 0, 1) }),
      ])
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
      expect(seqs(await store.events('default', 'a', undefined, 9))).toEqual([0])
      expect(seqs(await store.events('default', 'b', undefined, 9))).toEqual([0])
    })

    test('the same idempotency key creates once, replays, and refuses another body', async () => {
      const idempotency = { key: 'k', fingerprint: 'f1', expiresAt: store.now() + 60_000 }
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) => store.create(aRun(`r${index}`), {}, { ...OWNER, idempotency })),
      )
      expect(outcomes[0]).toEqual({ kind: 'created', fence: 1 })
      expect(outcomes.slice(1)).toEqual(Array(19).fill({ kind: 'replayed', runId: 'r0' }))
      await reopened()
      const other = { ...idempotency, fingerprint: 'f2' }
      expect(await store.create(aRun('x'), {}, { ...OWNER, idempotency: other })).toEqual({ kind: 'conflict' })
      expect((await store.list('default', {})).map(run => run.id)).toEqual(['r0'])
      const elsewhere = aRun('y', { tenant_id: 'acme' })
      expect(await store.create(elsewhere, {}, { ...OWNER, idempotency: other })).toMatchObject({ kind: 'created' })
    })

    test('an idempotency key is free again once it has expired', async () => {
      const claim = (fingerprint: string, expiresAt: number) => ({ key: 'k', fingerprint, expiresAt })
      await store.create(aRun('a'), {}, { ...OWNER, idempotency: claim('f1', store.now()) })
      const again = await store.create(aRun('b'), {}, { ...OWNER, idempotency: claim('f2', store.now() + 60_000) })
      expect(again).toEqual({ kind: 'created', fence: 1 })
      expect(await store.create(aRun('c'), {}, { ...OWNER, idempotency: claim('f2', 0) })).toEqual({
        kind: 'replayed',
        runId: 'b',
      })
    })

    test('a claim takes only unfinished runs that nobody holds, oldest first, under a higher fence', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await store.create(aRun(id), {}, OWNER)
      await store.commit({ runId: 'a', fence: 1 }, { record: settled(aRun('a')) })
      await store.release({ runId: 'c', fence: 1 })
      await store.release({ runId: 'b', fence: 1 })
      const claimed = await store.claim('next')
      expect(claimed.map(({ record }) => record.id)).toEqual(['b', 'c'])
      expect(claimed.every(({ fence }) => fence > 1)).toBe(true)
      await expect(store.commit({ runId: 'b', fence: 1 }, {})).rejects.toMatchObject({ code: 'fenced' })
      await store.commit({ runId: 'b', fence: claimed[0]!.fence }, { events: eventsOf('b', 0, 1) })
      expect(await store.claim('third')).toEqual([])
    })

    test('a released run takes no more writes from who let go of it', async () => {
      await store.create(aRun('a'), {}, OWNER)
      await store.release({ runId: 'a', fence: 1 })
      await expect(store.commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', 0, 1) })).rejects.toMatchObject({
        code: 'fenced',
      })
    })

    test('after a restart every unfinished run is free, with its journal in order', async () => {
      const message = { kind: 'message', step: 1, message: { role: 'user', content: 'two\nlines' } } as const
      const rewrite = { kind: 'rewrite', step: 2, messages: [{ role: 'system', content: 'short' }] } as const
      const intent = { kind: 'intent', step: 2, call_id: 'c' } as const
      const note = (value: unknown) => ({ kind: 'note', key: 'plan', value }) as const
      await store.create(aRun('a'), { journal: [message] }, OWNER)
      await store.commit({ runId: 'a', fence: 1 }, { journal: [note(1), rewrite] })
      await store.commit({ runId: 'a', fence: 1 }, { journal: [intent, note({ last: true }), message] })
      await store.create(aRun('b'), {}, OWNER)
      await store.commit({ runId: 'b', fence: 1 }, { record: settled(aRun('b')) })
      if (!(await reopened())) await store.release({ runId: 'a', fence: 1 })
      const [claimed, ...others] = await store.claim('next')
      expect(others).toEqual([])
      expect(claimed?.journal).toEqual([message, rewrite, intent, note({ last: true }), message])
      expect(claimed!.fence).toBeGreaterThan(1)
    })

    test('the clock never goes back', () => {
      const readings = Array.from({ length: 1_000 }, () => store.now())
      expect(readings).toEqual([...readings].sort((a, b) => a - b))
      expect(Math.abs(store.now() - Date.now())).toBeLessThan(60_000)
    })

    describeMailbox(() => store, reopened)
    describeRunReads(() => store, reopened)
  })
}
