import { afterEach, expect, test } from 'vitest'
import { MESSAGE_STORE } from '#contracts/ports'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'
import { seeded } from '#test/kit/seed'
import { cancelAtRandom } from './races.js'

let live: Booted | undefined
let model: ChatServer | undefined
afterEach(async () => {
  await live?.stop()
  await model?.close()
  live = undefined
  model = undefined
})

test('300 runs cancelled at random moments: one end each, told alike by event, status and summary', {
  timeout: 60_000,
}, async () => {
  await cancelAtRandom(seeded('cancel'), 300, 12)
})

test.each([{ isDurable: false }, { isDurable: true }])(
  '200 parallel runs on one conversation: its history has what each was told and said once, side by side (%j)',
  { timeout: 60_000 },
  async ({ isDurable }) => {
    model = await startChatServer({
      respond: ({ body }) => {
        const prompt = ((body?.messages ?? []) as { role: string; content: string }[]).findLast(
          ({ role }) => role === 'user',
        )
        return { text: `re ${prompt?.content}`, delayMs: 1 }
      },
    })
    live = await boot({ modelUrl: model.baseUrl, isDurable })
    const { run, request } = live
    const prompts = Array.from({ length: 200 }, (_, index) => `p${index}`)
    const ends = await Promise.all(
      prompts.map(async prompt => (await run({ prompt, conversation_id: 'talk' })).at(-1)?.payload?.output),
    )
    expect(ends).toEqual(prompts.map(prompt => `re ${prompt}`))
    const stored = await live.daemon.host.current.port(MESSAGE_STORE)?.load('default', 'talk')
    const messages = stored?.messages ?? []
    expect(messages).toHaveLength(400)
    const pairs = Array.from({ length: 200 }, (_, index) =>
      messages.slice(2 * index, 2 * index + 2).map(({ role, content }) => `${role}: ${content}`),
    )
    expect(pairs.sort()).toEqual(prompts.map(prompt => [`user: ${prompt}`, `assistant: re ${prompt}`]).sort())
    // And the next run is told all of it.
    const events = await run({ prompt: 'last', conversation_id: 'talk' })
    expect(events.find(({ type }) => type === 'conversation.continued')?.payload?.prior_message_count).toBe(400)
    if (isDurable) expect((await request('GET', '/v1/runs?conversation_id=talk')).body.runs).toHaveLength(201)
  },
)

test.each([{ isDurable: false }, { isDurable: true }])(
  '50 identical posts at once under one key start one run (%j)',
  async ({ isDurable }) => {
    live = await boot({ isDurable })
    const { request, daemon } = live
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => request('POST', '/v1/runs', { prompt: 'x' }, { 'idempotency-key': 'k' })),
    )
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(replies.map(({ body }) => body.run_id)).size).toBe(1)
    expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(49)
    await live.events(replies[0]!.body.run_id)
    if (isDurable) expect((await request('GET', '/v1/runs')).body.runs).toHaveLength(1)
    expect(daemon.runs.size).toBe(0)
  },
)
