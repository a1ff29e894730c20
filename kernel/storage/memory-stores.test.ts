import { expect, test } from 'vitest'
import { createMemoryKeyStore } from '#test/kit/memory-key-store'
import {
  aRun,
  describeKeyStore,
  describeMessageStore,
  describeRecords,
  describeRunStore,
  eventsOf,
} from '#test/kit/storage-contract'
import { createMemoryMessageStore } from './memory-message-store.js'
import { createMemoryRecords } from './memory-records.js'
import { createMemoryRunStore } from './memory-run-store.js'

const held =
  <Store>(create: () => Store) =>
  async () => ({ store: create(), close: async () => undefined })

describeRunStore('memory', held(createMemoryRunStore))
describeMessageStore('memory', held(createMemoryMessageStore))
describeRecords('memory', held(createMemoryRecords))
describeKeyStore('the memory key store of the kit', held(createMemoryKeyStore))

test('only the newest settled runs are kept, and all the others', async () => {
  const store = createMemoryRunStore({ maxSettledRuns: 2, graceMs: 0 })
  const inC = { conversation_id: 'c' }
  for (const id of ['a', 'b', 'c', 'd']) {
    const idempotency = { key: id, fingerprint: 'f', expiresAt: store.now() + 1_000 }
    await store.create(aRun(id, inC), { events: eventsOf(id, 0, 1) }, { owner: 'o', idempotency })
  }
  for (const id of ['c', 'a', 'b'])
    await store.commit({ runId: id, fence: 1 }, { record: aRun(id, { ...inC, status: 'completed' }) })
  expect((await store.list('default', {})).map(run => run.id)).toEqual(['d', 'b', 'a'])
  const events = await store.conversationEvents('default', 'c', undefined, 10)
  expect(events).toMatchObject([{ at: { runId: 'a' } }, { at: { runId: 'b' } }, { at: { runId: 'd' } }])
  const idempotency = { key: 'c', fingerprint: 'f', expiresAt: store.now() + 1_000 }
  expect(await store.create(aRun('c'), {}, { owner: 'o', idempotency })).toMatchObject({ kind: 'created' })
})

test('a run that settled a moment ago is kept beside them, within a bound', async () => {
  let wall = 0
  const store = createMemoryRunStore({ now: () => wall, maxSettledRuns: 2, graceMs: 100 })
  const settle = async (id: string) => {
    await store.create(aRun(id), {}, { owner: 'o' })
    await store.commit({ runId: id, fence: 1 }, { record: aRun(id, { status: 'completed' }) })
    return (await store.list('default', {})).length
  }
  const counts: number[] = []
  for (let n = 0; n < 12; n++) counts.push(await settle(`r${n}`))
  expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10])
  wall = 100
  expect(await settle('late')).toBe(2)
})

test('the clock of a memory store stands still while the wall clock is behind', async () => {
  let wall = 1_000
  const store = createMemoryRunStore({ now: () => wall })
  expect(store.now()).toBe(1_000)
  wall = 10
  expect(store.now()).toBe(1_000)
  wall = 1_001
  expect(store.now()).toBe(1_001)
})

test('the conversation unused for longest makes room', async () => {
  const store = createMemoryMessageStore({ maxConversations: 2 })
  const add = (id: string) =>
    store.append('t', id, { runId: 'r', messages: [], promptTokens: 0, completionTokens: 0, costUsd: 0 })
  await add('a')
  await add('b')
  await store.load('t', 'a')
  await add('c')
  expect(await store.load('t', 'b')).toBeUndefined()
  expect(await store.load('t', 'a')).toBeDefined()
})
