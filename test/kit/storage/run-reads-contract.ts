import { describe, expect, test } from 'vitest'
import { eventIdOf, parseConversationEventId } from '#contracts/event/envelope'
import type { RunStore } from '#contracts/store/run-store'
import { aRun, eventsOf, seqs } from './samples.js'

const OWNER = { owner: 'daemon-1' }

/** What `RunStore` promises to readers. */
export function describeRunReads(store: () => RunStore, reopened: () => Promise<boolean>): void {
  const page = async (after: string | undefined, limit: number) => {
    const events = await store().conversationEvents('default', 'c', parseConversationEventId(after), limit)
    return events === 'unknown' ? events : events.map(({ at }) => eventIdOf(at))
  }
  /** Read whole, and on from every place, in pages of any size. */
  async function expectOrder(order: readonly string[]): Promise<void> {
    expect(await page(undefined, 100)).toEqual(order)
    for (const [index, id] of order.entries()) {
      expect(await page(id, 100)).toEqual(order.slice(index + 1))
      expect(await page(id, 2)).toEqual(order.slice(index + 1, index + 3))
    }
  }

  describe('readers', () => {
    test("another tenant's run is as absent as one that never was", async () => {
      const events = eventsOf('a', 0, 2)
      await store().create(aRun('a', { conversation_id: 'c' }), { events }, OWNER)
      const seen = async (tenant: string, run: string, conversation: string) => [
        await store().read(tenant, run),
        await store().list(tenant, {}),
        await store().list(tenant, { conversationId: conversation }),
        await store().list(tenant, { afterId: run }),
        await store().events(tenant, run, undefined, 10),
        await store().conversationEvents(tenant, conversation, undefined, 10),
        await store().conversationEvents(tenant, conversation, { runId: run, seq: 0 }, 10),
        await store().post(tenant, run, { kind: 'cancel' }),
        await store().addBeside(tenant, run, { mark: 'm', type: 'x.y', data: '{}' }),
      ]
      const foreign = await seen('acme', 'a', 'c')
      expect(foreign).toEqual([undefined, [], [], [], [], [], 'unknown', { kind: 'unknown' }, false])
      expect(foreign).toEqual(await seen('acme', 'never', 'never'))
      expect(await store().letters('a')).toEqual([])
    })

    test('lists are newest first, filtered, and go on after a run', async () => {
      for (const id of ['a', 'b', 'c', 'd', 'e'])
        await store().create(aRun(id, { conversation_id: id < 'c' ? 'early' : 'late' }), {}, OWNER)
      await store().create(aRun('z', { tenant_id: 'acme' }), {}, OWNER)
      await store().commit(
        { runId: 'd', fence: 1 },
        { record: aRun('d', { conversation_id: 'late', status: 'failed' }) },
      )
      await reopened()
      const ids = async (query: Parameters<RunStore['list']>[1]) =>
        (await store().list('default', query)).map(run => run.id)
      expect(await ids({})).toEqual(['e', 'd', 'c', 'b', 'a'])
      expect(await ids({ limit: 2 })).toEqual(['e', 'd'])
      expect(await ids({ limit: 2, afterId: 'd' })).toEqual(['c', 'b'])
      expect(await ids({ conversationId: 'late' })).toEqual(['e', 'd', 'c'])
      expect(await ids({ status: 'failed' })).toEqual(['d'])
      expect(await ids({ conversationId: 'late', status: 'running', afterId: 'e' })).toEqual(['c'])
      expect(await ids({ afterId: 'z' })).toEqual([])
    })

    test('events are paged after a number, wherever the commits were cut', async () => {
      await store().create(aRun('a'), { events: eventsOf('a', 0, 3) }, OWNER)
      const hold = { runId: 'a', fence: 1 }
      await store().commit(hold, { events: eventsOf('a', 3, 400) })
      await store().commit(hold, { events: eventsOf('a', 403, 1) })
      await reopened()
      const all = eventsOf('a', 0, 404)
      for (const [after, limit] of [
        [undefined, 5],
        [0, 2],
        [1, 300],
        [130, 1],
        [131, 2],
        [402, 9],
        [403, 9],
        [999, 9],
      ] as const)
        expect(await store().events('default', 'a', after, limit)).toEqual(
          all.filter(({ seq }) => seq > (after ?? -1)).slice(0, limit),
        )
      expect(await store().events('default', 'a', undefined, 0)).toEqual([])
      // A bound in characters ends a page early, never before its first event.
      const [one] = await store().events('default', 'a', 7, 1_000, 1)
      expect(one?.seq).toBe(8)
      const some = await store().events('default', 'a', undefined, 1_000, 2_000)
      expect(some).toEqual(all.slice(0, some.length))
      expect(some.length).toBeLessThan(all.length)
    })

    test('events of a conversation come in the order they were appended, whichever run they are of', async () => {
      const inC = { conversation_id: 'c' }
      await store().create(aRun('a', inC), { events: eventsOf('a', 0, 2) }, OWNER)
      await store().create(aRun('b', inC), { events: eventsOf('b', 0, 1) }, OWNER)
      await store().create(aRun('x'), { events: eventsOf('x', 0, 3) }, OWNER)
      await store().commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', 2, 2) })
      await store().commit({ runId: 'b', fence: 1 }, { events: eventsOf('b', 1, 1) })
      await reopened()
      const order = ['a:0', 'a:1', 'b:0', 'a:2', 'a:3', 'b:1']
      await expectOrder(order)
      const [{ type, data } = {}] = eventsOf('a', 0, 1)
      expect(await store().conversationEvents('default', 'c', undefined, 1)).toEqual([
        { at: { runId: 'a', seq: 0 }, type, data },
      ])
      for (const unknown of ['a:4', 'x:0', 'nobody:0']) expect(await page(unknown, 10)).toBe('unknown')
    })

    test('what stands beside the runs of a conversation is in its order, once, and in no run’s log', async () => {
      const inC = { conversation_id: 'c' }
      await store().create(aRun('a', inC), { events: eventsOf('a', 0, 2) }, OWNER)
      const beside = (run: string, mark: string) =>
        store().addBeside('default', run, { mark, type: 'job.completed', data: JSON.stringify({ mark, text: 'é"' }) })
      expect(await beside('a', 'm-1')).toBe(true)
      await store().create(aRun('b', inC), { events: eventsOf('b', 0, 1) }, OWNER)
      await store().commit(
        { runId: 'a', fence: 1 },
        { events: eventsOf('a', 2, 1), record: aRun('a', { ...inC, status: 'completed' }) },
      )
      // Settled or not, and the same mark once.
      expect([await beside('a', 'm-2'), await beside('a', 'm-1'), await beside('nobody', 'm-3')]).toEqual([
        true,
        true,
        false,
      ])
      await reopened()
      await store().commit({ runId: 'b', fence: 1 }, { events: eventsOf('b', 1, 1) })
      expect([await beside('a', 'm-2'), await beside('b', 'm-4')]).toEqual([true, true])
      const [m1, m2, m4] = ['a:conversation:m-1', 'a:conversation:m-2', 'b:conversation:m-4'] as const
      await expectOrder(['a:0', 'a:1', m1, 'b:0', 'a:2', m2, 'b:1', m4])
      const all = await store().conversationEvents('default', 'c', undefined, 100)
      expect(all === 'unknown' ? all : all[2]).toEqual({
        at: { runId: 'a', mark: 'm-1' },
        type: 'job.completed',
        data: JSON.stringify({ mark: 'm-1', text: 'é"' }),
      })
      expect(seqs(await store().events('default', 'a', undefined, 100))).toEqual([0, 1, 2])
      expect(seqs(await store().events('default', 'b', undefined, 100))).toEqual([0, 1])
      for (const unknown of ['b:conversation:m-1', 'a:conversation:m-9'])
        expect(await page(unknown, 10)).toBe('unknown')
    })

    test('a reader sees a commit as soon as it resolved', async () => {
      await store().create(aRun('a'), {}, OWNER)
      for (let seq = 0; seq < 5; seq += 1) {
        await store().commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', seq, 1) })
        expect(seqs(await store().events('default', 'a', seq - 1, 10))).toEqual([seq])
      }
    })
  })
}
