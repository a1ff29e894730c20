import { afterEach, describe, expect, test } from 'vitest'
import type { ChatTurn } from '#test/kit/chat-server'
import { RestartBench } from '#test/kit/restart-bench'

const options = ['red', 'blue'].map(label => ({ label, description: `takes ${label}` }))
const COLOUR = { question: 'Which colour?', header: 'Colour', options }
const messagesOf = (body: unknown) => (body as { messages: { role: string; content: string }[] }).messages

describe('over restarts', () => {
  let bench: RestartBench
  afterEach(() => bench.close())
  async function begin(settings: Readonly<Record<string, unknown>> = {}) {
    bench = await RestartBench.open({
      respond: ({ body }): ChatTurn => {
        const results = messagesOf(body).filter(({ role }) => role === 'tool')
        return results.length === 0
          ? { toolCalls: [{ id: 'ask-1', name: 'AskUserQuestion', arguments: { questions: [COLOUR] } }] }
          : { text: `heard ${results[0]?.content}` }
      },
    })
    const client = await bench.start(settings)
    const id = await client.start('go')
    await client.until(id, 'run.waiting_for_user')
    return { client, id, shown: (await client.request('GET', `/v1/runs/${id}/input`)).body }
  }

  test('a killed daemon comes back with the same question and deadline, and takes the answer once', async () => {
    const { id, shown } = await begin()
    const second = await bench.restart({ ask_user_timeout_seconds: 5000 })
    expect((await second.request('GET', `/v1/runs/${id}/input`)).body).toEqual(shown)
    await bench.daemon.terminate()
    const third = await bench.start()
    expect((await third.request('GET', `/v1/runs/${id}/input`)).body).toEqual(shown)
    const answer = () => third.request('POST', `/v1/runs/${id}/input`, { answers: { 'Which colour?': 'red' } })
    const statuses = (await Promise.all([answer(), answer(), answer()])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([202, 409, 409])
    const events = await third.events(id)
    expect(events.filter(({ type }) => type === 'run.waiting_for_user')).toHaveLength(1)
    expect(events.at(-1)?.payload?.output).toContain('"answers":{"Which colour?":"red"}')
  })

  test('an answer that was accepted right before the kill counts', async () => {
    const { client, id } = await begin()
    expect((await client.request('POST', `/v1/runs/${id}/input`, { answers: { 'Which colour?': 'red' } })).status).toBe(
      202,
    )
    const after = await bench.restart()
    expect((await after.events(id)).at(-1)?.payload?.output).toContain('"answers":{"Which colour?":"red"}')
  })

  test('a deadline that passed while no daemon ran fails the run', async () => {
    const { id } = await begin({ ask_user_timeout_seconds: 1.5 })
    const after = await bench.restart({ ask_user_timeout_seconds: 5000 })
    expect((await after.events(id)).at(-1)).toMatchObject({
      type: 'run.failed',
      payload: { reason: 'ask_user_timeout' },
    })
  })
})
