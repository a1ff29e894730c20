import { expect, test } from 'vitest'
import { Failure } from '#contracts/errors'
import type { Message } from '#contracts/run/message'
import type { MessageStore } from '#contracts/store/message-store'
import { createMemoryMessageStore } from '../storage/memory-message-store.js'
import { History } from './history.js'

const said = (content: string): Message => ({ role: 'user', content })
const addition = (runId: string, ...messages: Message[]) => ({
  runId,
  messages,
  promptTokens: 0,
  completionTokens: 0,
  costUsd: 0,
})
const texts = (messages: readonly Message[]) => messages.map(({ content }) => content)

function counting() {
  const store = createMemoryMessageStore()
  let loads = 0
  const counted: MessageStore = {
    ...store,
    load: (...key) => {
      loads++
      return store.load(...key)
    },
  }
  return { store, history: new History(() => counted), loads: () => loads }
}

test('a history is loaded once and grows with what runs save', async () => {
  const { history, loads } = counting()
  await history.load('t', 'c')
  await history.save('t', 'c', addition('r1', said('one')))
  await history.save('t', 'c', addition('r2', said('two')))
  expect(texts(await history.load('t', 'c'))).toEqual(['one', 'two'])
  expect(loads()).toBe(1)
})

test('a save while a load is under way is not lost to the next reader', async () => {
  const { history } = counting()
  const loading = history.load('t', 'c')
  await history.save('t', 'c', addition('r1', said('one')))
  await loading
  expect(texts(await history.load('t', 'c'))).toEqual(['one'])
})

test('messages keep their identity, and the caller’s array is its own', async () => {
  const { history } = counting()
  await history.load('t', 'c')
  await history.save('t', 'c', addition('r1', said('one')))
  const [first, second] = [await history.load('t', 'c'), await history.load('t', 'c')]
  expect(first[0]).toBe(second[0])
  first.push(said('mine'))
  expect(texts(await history.load('t', 'c'))).toEqual(['one'])
})

test('a rewritten transcript takes the place of the history it was made from', async () => {
  const { history, store } = counting()
  await history.save('t', 'c', addition('r1', said('one'), said('two')))
  await history.save('t', 'c', addition('r2', said('outline')), { expectedCount: 2, messages: [said('summary')] })
  expect(texts((await store.load('t', 'c'))?.messages ?? [])).toEqual(['summary'])
})

test('a rewritten transcript gives way to a history that went on meanwhile', async () => {
  const { history, store } = counting()
  await history.save('t', 'c', addition('r1', said('one')))
  await history.save('t', 'c', addition('r2', said('outline')), { expectedCount: 0, messages: [said('summary')] })
  expect(texts((await store.load('t', 'c'))?.messages ?? [])).toEqual(['one', 'outline'])
})

test('what is loaded while a transcript is being rewritten is not kept', async () => {
  const { history, store } = counting()
  await history.save('t', 'c', addition('r1', said('one')))
  const loads: Promise<unknown>[] = []
  const busy = {
    ...store,
    replace: async (...call: Parameters<MessageStore['replace']>) => {
      loads.push(slow.load('t', 'c'))
      await loads[0]
      return store.replace(...call)
    },
  }
  const slow = new History(() => busy)
  await slow.save('t', 'c', addition('r2', said('outline')), { expectedCount: 1, messages: [said('summary')] })
  expect([loads.length, texts(await slow.load('t', 'c'))]).toEqual([1, ['summary']])
})

test('a rewritten transcript that was saved by halves is not followed by its outline', async () => {
  const { store } = counting()
  const appends = [store.append, () => Promise.reject(new Failure('store_unavailable', 'disk full')), store.append]
  const history = new History(() => ({ ...store, append: (...call) => (appends.shift() ?? store.append)(...call) }))
  await history.save('t', 'c', addition('r1', said('one')))
  const save = () =>
    history.save('t', 'c', addition('r2', said('outline')), { expectedCount: 1, messages: [said('a'), said('b')] })
  await expect(save()).rejects.toThrow('disk full')
  await save()
  expect(texts(await history.load('t', 'c'))).toEqual(['a', 'b'])
})

test('the same conversation id of two tenants is two conversations', async () => {
  const { history } = counting()
  await history.save('a', 'c', addition('r1', said('a’s')))
  await history.save('b', 'c', addition('r2', said('b’s')))
  expect([texts(await history.load('a', 'c')), texts(await history.load('b', 'c'))]).toEqual([['a’s'], ['b’s']])
})

test('a first run that rewrote its transcript stores it as it is', async () => {
  const { store, history } = counting()
  await history.save('t', 'c', addition('r1', said('outline')), { expectedCount: 0, messages: [said('compacted')] })
  await history.save('t', 'c', addition('r1', said('outline')), { expectedCount: 0, messages: [said('compacted')] })
  expect(texts((await store.load('t', 'c'))?.messages ?? [])).toEqual(['compacted'])
  expect(texts(await history.load('t', 'c'))).toEqual(['compacted'])
})
