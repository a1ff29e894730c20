import { afterEach, describe, expect, test } from 'vitest'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import type { ChatTurn } from '#test/kit/chat-server'
import { RestartBench } from '#test/kit/restart-bench'
import { NoticeQueue } from './notice-queue.js'

describe('the queue of a conversation', () => {
  const DAY = 86_400_000
  let now = 0
  const open = () => new NoticeQueue(createMemoryRecords(), () => now)
  const run = (id: string, conversationId = 'c', tenantId = 't') => ({ id, conversationId, tenantId })
  const texts = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `text ${from + index}`)
  const fill = async (queue: NoticeQueue, count: number) => {
    for (let n = 0; n < count; n++) await queue.post('t', 'c', { id: `n${n}`, text: `text ${n}` })
  }

  test('keeps the newest 20, each id once, and gives them to one run', async () => {
    const queue = open()
    await fill(queue, 23)
    await queue.post('t', 'c', { id: 'n22', text: 'again' })
    expect(await queue.take(run('a', 'c', 'other'))).toEqual([])
    expect(await queue.take(run('a', 'other'))).toEqual([])
    expect(await queue.take(run('a'))).toEqual(texts(3, 23))
    expect(await queue.take(run('b'))).toEqual([])
    expect([await queue.given(run('a')), await queue.given(run('b'))]).toEqual([texts(3, 23), []])
  })

  test('of runs that ask at once exactly one gets them, and of those that post at once none is lost', async () => {
    const queue = open()
    await Promise.all(texts(0, 8).map((text, n) => queue.post('t', 'c', { id: `n${n}`, text })))
    const taken = await Promise.all(['a', 'b', 'c', 'd'].map(id => queue.take(run(id))))
    expect(taken.map(({ length }) => length).toSorted()).toEqual([0, 0, 0, 8])
    expect(taken.flat().toSorted()).toEqual(texts(0, 8))
  })

  test('what a run was given goes with the run; what came meanwhile is for the next', async () => {
    const queue = open()
    await fill(queue, 2)
    await queue.take(run('a'))
    await queue.post('t', 'c', { id: 'later', text: 'later' })
    await queue.drop(run('b'))
    expect(await queue.given(run('a'))).toEqual(texts(0, 2))
    await queue.drop(run('a'))
    expect(await queue.given(run('a'))).toEqual([])
    expect(await queue.take(run('b'))).toEqual(['later'])
  })

  test('a notice is cut, and forgotten when nobody came for it in 30 days', async () => {
    const queue = open()
    await queue.post('t', 'c', { id: 'long', text: 'x'.repeat(1000) })
    expect((await queue.take(run('a')))[0]).toHaveLength(600)
    await queue.post('t', 'old', { id: 'a', text: 'a' })
    now += 29 * DAY
    await queue.post('t', 'd', { id: 'a', text: 'a' })
    expect(await queue.take(run('a', 'old'))).toEqual(['a'])
    await queue.drop(run('a', 'old'))
    await queue.post('t', 'old', { id: 'b', text: 'b' })
    now += 31 * DAY
    await queue.post('t', 'd', { id: 'b', text: 'b' })
    expect(await queue.take(run('b', 'old'))).toEqual([])
  })
})

const POSTER = `
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { NOTICES } from '#contracts/ports'
export const plugin = definePlugin({
  name: 'poster',
  config: Type.Object({}),
  optional: [NOTICES],
  register(scope) {
    scope.routes(async app => {
      app.post('/v1/poster', { config: { scope: 'runs:write' } }, async ({ identity, body }) => {
        await scope.find(NOTICES).post(identity.tenantId, 'talk', body)
        return {}
      })
    })
  },
})
`

describe('over HTTP', () => {
  let bench: RestartBench
  afterEach(() => bench.close())
  /** What the model was told in each request. */
  const told = () =>
    bench.model.calls.map(({ body }) => {
      const messages = body?.messages as { role: string; content: string }[]
      return /<notices>\n([\s\S]*)\n<\/notices>/.exec(messages.at(-1)?.content ?? '')?.[1]
    })

  test('a notice is in every turn of the next run and in no later one, also when the daemon is killed in it', async () => {
    let respond: (index: number) => ChatTurn = () => ({ text: 'done' })
    bench = await RestartBench.open({
      plugins: { poster: POSTER },
      respond: ({ body }) => {
        const messages = body?.messages as { role: string }[]
        return respond(messages.filter(({ role }) => role === 'tool').length)
      },
    })
    let client = await bench.start()
    const talk = (prompt: string) => ({ prompt, conversation_id: 'talk' })
    await client.run(talk('one'))
    await client.request('POST', '/v1/poster', { id: 'a', text: 'job a ended' })
    await client.request('POST', '/v1/poster', { id: 'a', text: 'job a ended' })
    client = await bench.restart()
    // The second turn is being answered when the daemon goes.
    respond = calls =>
      calls === 0 ? { toolCalls: [{ id: 'x', name: 'ls', arguments: {} }] } : { text: 'w', hang: true }
    const id = await client.start(talk('two'))
    await client.until(id, 'assistant.message.delta')
    await client.request('POST', '/v1/poster', { id: 'b', text: 'job b ended' })
    respond = () => ({ text: 'done' })
    client = await bench.restart()
    expect((await client.events(id)).at(-1)?.type).toBe('run.completed')
    await client.run({ prompt: 'elsewhere', conversation_id: 'other' })
    await client.run(talk('three'))
    await client.run(talk('four'))
    expect(told()).toEqual([
      undefined,
      'job a ended',
      'job a ended',
      'job a ended',
      undefined,
      'job b ended',
      undefined,
    ])
    // Sent, and never stored.
    const last = bench.model.calls.at(-1)?.body?.messages as { content?: string }[]
    expect(last.filter(({ content }) => content?.includes('ended'))).toEqual([])
  })
})
