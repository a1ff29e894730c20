import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Message } from '#contracts/run/message'
import type { ConversationAddition, MessageStore } from '#contracts/store/message-store'
import type { OpenStore, StoreOpener } from './samples.js'

const user = (content: string): Message => ({ role: 'user', content })
const reply: Message = {
  role: 'assistant',
  content: 'ok\n"\u{1f600}"',
  tool_calls: [{ id: 'c', name: 'read', arguments: '{"path":"a"}' }],
}
const addition = (runId: string, ...messages: readonly Message[]): ConversationAddition => ({
  runId,
  messages,
  promptTokens: 10,
  completionTokens: 2,
  costUsd: 0.25,
})

/** Every promise of `MessageStore`. */
export function describeMessageStore(name: string, open: StoreOpener<MessageStore>): void {
  describe(`${name} keeps the promises of a message store`, () => {
    let opened: OpenStore<MessageStore>
    let store: MessageStore
    const reopened = async () => {
      if (!opened.reopen) return
      opened = await opened.reopen()
      store = opened.store
    }
    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })
    afterEach(() => opened.close())

    test('runs add to a history, and it is read back as it was written', async () => {
      expect(await store.load('default', 'c')).toBeUndefined()
      await store.append('default', 'c', { ...addition('r1', user('Fix it. Now.'), reply), workspace: '/w' })
      await store.append('default', 'c', addition('r2', user('more'), reply))
      await reopened()
      const loaded = await store.load('default', 'c')
      expect(loaded).toEqual({
        record: {
          id: 'c',
          tenant_id: 'default',
          title: 'Fix it.',
          workspace: '/w',
          message_count: 4,
          prompt_tokens: 20,
          completion_tokens: 4,
          cost_usd: 0.5,
          created_at: expect.stringMatching(/^\d{4}-.*Z$/),
          updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
        },
        messages: [user('Fix it. Now.'), reply, user('more'), reply],
      })
      expect(loaded!.record.updated_at >= loaded!.record.created_at).toBe(true)
    })

    test('a run is added once, however often and at whatever time', async () => {
      await Promise.all(Array.from({ length: 10 }, () => store.append('default', 'c', addition('r1', user('hi')))))
      await reopened()
      await store.append('default', 'c', addition('r1', user('hi')))
      expect(await store.load('default', 'c')).toMatchObject({
        record: { message_count: 1, prompt_tokens: 10 },
        messages: [user('hi')],
      })
    })

    test('what a run said last holds, until something follows it', async () => {
      await store.append('default', 'c', addition('r1', user('a'), reply))
      await store.append('default', 'c', addition('r2', user('b'), reply))
      await reopened()
      await store.append('default', 'c', addition('r2', user('b'), reply, user('c'), reply))
      await store.append('default', 'c', addition('r1', user('late')))
      expect(await store.load('default', 'c')).toMatchObject({
        record: { message_count: 6, prompt_tokens: 20, title: 'a' },
        messages: [user('a'), reply, user('b'), reply, user('c'), reply],
      })
      await store.append('default', 'c', addition('r2', user('b')))
      await store.append('default', 'c', addition('r2'))
      expect((await store.load('default', 'c'))?.messages).toEqual([user('a'), reply, user('b')])
    })

    test('a run that added nothing, for it replaced the whole, adds nothing later', async () => {
      await store.append('default', 'c', addition('r1', user('a'), reply))
      await store.replace('default', 'c', 2, [user('short')])
      await store.append('default', 'c', addition('r2'))
      await reopened()
      await store.append('default', 'c', addition('r2', user('outline'), reply))
      expect((await store.load('default', 'c'))?.messages).toEqual([user('short')])
    })

    test('a conversation id lives inside its tenant', async () => {
      await store.append('default', 'c', addition('r1', user('mine')))
      await store.append('acme', 'c', addition('r1', user('theirs')))
      expect((await store.load('default', 'c'))?.messages).toEqual([user('mine')])
      expect((await store.load('acme', 'c'))?.messages).toEqual([user('theirs')])
      expect(await store.load('other', 'c')).toBeUndefined()
      expect(await store.remove('other', 'c')).toBe(false)
      await expect(store.replace('other', 'c', 1, [])).rejects.toMatchObject({ code: 'conflict' })
      expect((await store.load('default', 'c'))?.messages).toEqual([user('mine')])
    })

    test('a history is replaced only as it was seen', async () => {
      await store.append('default', 'c', addition('r1', user('a'), reply, user('b')))
      await expect(store.replace('default', 'c', 2, [])).rejects.toMatchObject({ code: 'conflict' })
      await store.replace('default', 'c', 3, [user('short')])
      await expect(store.replace('default', 'c', 3, [])).rejects.toMatchObject({ code: 'conflict' })
      await store.append('default', 'c', addition('r2', reply))
      await store.append('default', 'c', addition('r1', user('again')))
      await reopened()
      expect(await store.load('default', 'c')).toMatchObject({
        record: { message_count: 2, title: 'a' },
        messages: [user('short'), reply],
      })
    })

    test('a removed conversation is gone with its messages and may start anew', async () => {
      await store.append('default', 'c', addition('r1', user('a')))
      expect(await store.remove('default', 'c')).toBe(true)
      expect(await store.remove('default', 'c')).toBe(false)
      await reopened()
      expect(await store.load('default', 'c')).toBeUndefined()
      await store.append('default', 'c', addition('r1', user('b')))
      expect(await store.load('default', 'c')).toMatchObject({ record: { message_count: 1 }, messages: [user('b')] })
    })

    test('a title is never overwritten, and never made of hidden messages', async () => {
      const hidden: Message = { ...user('secret instructions'), is_meta: true }
      await store.append('default', 'c', addition('r1', hidden, reply))
      expect((await store.load('default', 'c'))?.record.title).toBeUndefined()
      await store.append('default', 'c', addition('r2', hidden, user('first words\nrest')))
      await store.append('default', 'c', addition('r3', user('later words')))
      expect((await store.load('default', 'c'))?.record.title).toBe('first words')
    })
  })
}
