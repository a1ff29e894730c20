import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createClient } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'
import { type DaemonProcess, spawnDaemon } from '#test/kit/daemon-process'

const options = ['red', 'blue'].map(label => ({ label, description: `takes ${label}` }))
const COLOUR = { question: 'Which colour?', header: 'Colour', options }
const messagesOf = (body: unknown) => (body as { messages: { role: string; content: string }[] }).messages

describe('over restarts', () => {
  let dir = ''
  let model: ChatServer
  let daemon: DaemonProcess
  afterEach(async () => {
    await daemon.kill()
    await model.close()
    await rm(dir, { recursive: true, force: true })
  })
  async function start(settings: object = {}) {
    daemon = await spawnDaemon({
      home: dir,
      cwd: dir,
      environment: { OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'test-key' },
      settings: {
        addr: '127.0.0.1:0',
        workspace: join(dir, 'workspace'),
        watch_enabled: false,
        auth_disabled: true,
        log_level: 'error',
        run_db: join(dir, 'runs.db'),
        conversation_db: join(dir, 'conversations.db'),
        ...settings,
      },
    })
    return createClient(daemon.url)
  }
  async function begin(settings?: object) {
    dir = await mkdtemp(join(tmpdir(), 'runwright-questions-'))
    await mkdir(join(dir, 'workspace'))
    model = await startChatServer({
      respond: ({ body }): ChatTurn => {
        const results = messagesOf(body).filter(({ role }) => role === 'tool')
        return results.length === 0
          ? { toolCalls: [{ id: 'ask-1', name: 'AskUserQuestion', arguments: { questions: [COLOUR] } }] }
          : { text: `heard ${results[0]?.content}` }
      },
    })
    const client = await start(settings)
    const id = await client.start('go')
    await client.until(id, 'run.waiting_for_user')
    return { id, shown: (await client.request('GET', `/v1/runs/${id}/input`)).body }
  }

  test('a killed daemon comes back with the same question and deadline, and takes the answer once', async () => {
    const { id, shown } = await begin()
    await daemon.kill()
    const second = await start({ ask_user_timeout_seconds: 5000 })
    expect((await second.request('GET', `/v1/runs/${id}/input`)).body).toEqual(shown)
    await daemon.terminate()
    const third = await start()
    expect((await third.request('GET', `/v1/runs/${id}/input`)).body).toEqual(shown)
    const answer = () => third.request('POST', `/v1/runs/${id}/input`, { answers: { 'Which colour?': 'red' } })
    const statuses = (await Promise.all([answer(), answer(), answer()])).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([202, 409, 409])
    const events = await third.events(id)
    expect(events.filter(({ type }) => type === 'run.waiting_for_user')).toHaveLength(1)
    expect(events.at(-1)?.payload?.output).toContain('"answers":{"Which colour?":"red"}')
  })

  test('an answer that was accepted right before the kill counts', async () => {
    const { id } = await begin()
    const client = createClient(daemon.url)
    expect((await client.request('POST', `/v1/runs/${id}/input`, { answers: { 'Which colour?': 'red' } })).status).toBe(
      202,
    )
    await daemon.kill()
    const after = await start()
    expect((await after.events(id)).at(-1)?.payload?.output).toContain('"answers":{"Which colour?":"red"}')
  })

  test('a deadline that passed while no daemon ran fails the run', async () => {
    const { id } = await begin({ ask_user_timeout_seconds: 1.5 })
    await daemon.kill()
    const after = await start({ ask_user_timeout_seconds: 5000 })
    expect((await after.events(id)).at(-1)).toMatchObject({
      type: 'run.failed',
      payload: { reason: 'ask_user_timeout' },
    })
  })
})
