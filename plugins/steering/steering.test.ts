import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RUNS } from '#contracts/ports'
import { type Booted, boot, type EventEnvelope } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'
import { describePlugin } from '#test/kit/describe-plugin'
import { RestartBench } from '#test/kit/restart-bench'
import { Gate } from './gate.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: [[RUNS, {}]] })

test('a gate that closes waits for what is on its way and lets nothing in after it', async () => {
  const gate = new Gate()
  const order: string[] = []
  const posting = gate.post(async () => {
    await new Promise(setImmediate)
    order.push('posted')
  })
  await gate.close().then(() => order.push('closed'))
  await posting
  expect(order).toEqual(['posted', 'closed'])
  expect(await gate.post(async () => 'in')).toBeUndefined()
  gate.open()
  expect(await gate.post(async () => 'in')).toBe('in')
})

type Said = { readonly role: string; readonly content: string }
const saidTo = (body: unknown): readonly Said[] => (body as { messages: Said[] }).messages
const usersOf = (said: readonly Said[]): readonly string[] =>
  said.filter(({ role }) => role === 'user').map(({ content }) => content)
const received = (events: readonly EventEnvelope[]): readonly string[] =>
  events.filter(({ type }) => type === 'steering.received').map(({ payload }) => payload?.message)
const COMMAND: ChatTurn = { toolCalls: [{ id: 'c1', name: 'ls', arguments: {} }] }

const DAWDLER = `
import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
export const plugin = definePlugin({
  name: 'dawdler',
  config: Type.Object({}),
  register(scope) {
    scope.tap('runSettling', async () => { await sleep(25) }, { stage: 2000 })
  },
})
`

describe('over HTTP', () => {
  let booted: Booted
  let model: ChatServer
  let respond: (said: readonly Said[], index: number) => ChatTurn | Promise<ChatTurn>
  beforeEach(async () => {
    model = await startChatServer({ respond: ({ body }, index) => respond(saidTo(body), index) })
    booted = await boot({ modelUrl: model.baseUrl })
  })
  afterEach(async () => {
    await booted.stop()
    await model.close()
  })
  const steer = (id: string, prompt: unknown) => booted.request('POST', `/v1/runs/${id}/steer`, { prompt })
  /** A model that waits at its first answer until it is let go. */
  function held(first: ChatTurn) {
    let release: () => void = () => undefined
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const heard: (readonly string[])[] = []
    respond = async (said, index) => {
      heard.push(usersOf(said))
      if (index > 0) return { text: `answer ${index}` }
      await released
      return first
    }
    return { release, heard }
  }

  test('what is said during a step is read, in order, at the start of the next', async () => {
    const { release, heard } = held(COMMAND)
    const id = await booted.start('go')
    await booted.until(id, 'llm.turn.requested')
    expect([await steer(id, 'left'), await steer(id, 'right')].map(({ status, body }) => [status, body])).toEqual([
      [202, { status: 'accepted' }],
      [202, { status: 'accepted' }],
    ])
    release()
    const events = await booted.events(id)
    expect(heard).toEqual([['go'], ['go', 'left', 'right']])
    expect(received(events)).toEqual(['left', 'right'])
    const types = events.map(({ type }) => type)
    expect(types.indexOf('steering.received')).toBe(types.lastIndexOf('run.step.started') + 1)
  })

  test('what is said while the model gives its final answer makes the run go on', async () => {
    const { release, heard } = held({ text: 'done' })
    const id = await booted.start('go')
    await booted.until(id, 'llm.turn.requested')
    await steer(id, 'wait, one more')
    release()
    const events = await booted.events(id)
    expect(heard).toEqual([['go'], ['go', 'wait, one more']])
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'answer 1', step: 2 } })
  })

  test.each([{ max_steps: 1 }, { max_turns: 1 }])(
    'with %j used up, a message at the final answer fails nothing: the run completes, the next one of the conversation hears it',
    async limit => {
      const { release, heard } = held({ text: 'done' })
      const id = await booted.start({ prompt: 'go', conversation_id: 'talk', ...limit })
      await booted.until(id, 'llm.turn.requested')
      expect((await steer(id, 'one more')).status).toBe(202)
      release()
      const events = await booted.events(id)
      expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'done' } })
      expect(received(events)).toEqual(['one more'])
      await booted.run({ prompt: 'and?', conversation_id: 'talk' })
      expect(heard[1]?.filter(text => !text.includes('last step'))).toEqual(['go', 'one more', 'and?'])
    },
  )

  test('ten messages may wait, the eleventh is told to come later', async () => {
    const { release, heard } = held(COMMAND)
    const id = await booted.start('go')
    await booted.until(id, 'llm.turn.requested')
    const replies = await Promise.all(Array.from({ length: 14 }, (_, index) => steer(id, `m${index}`)))
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(10)
    const refused = replies.filter(({ status }) => status !== 202)
    expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual(
      Array.from({ length: 4 }, () => [429, 'steering_buffer_full']),
    )
    release()
    expect(received(await booted.events(id))).toHaveLength(10)
    expect(heard[1]).toHaveLength(11)
  })

  test('however close to the end it comes, an acknowledged message is in the history once and a refused one is not', async () => {
    // Other plugins take their time while the run settles.
    await mkdir(join(booted.dir, 'more', 'dawdler'), { recursive: true })
    await writeFile(join(booted.dir, 'more', 'dawdler', 'index.js'), DAWDLER)
    const slow = await boot({ modelUrl: model.baseUrl, settings: { plugin_dirs: [join(booted.dir, 'more')] } })
    let heard: readonly string[] = []
    respond = (said, index) => {
      heard = usersOf(said)
      return { text: `answer ${index}`, delayMs: 2 }
    }
    for (let round = 0; round < 8; round++) {
      const conversation = `talk-${round}`
      const id = await slow.start({ prompt: 'go', conversation_id: conversation })
      const acknowledged: string[] = []
      for (let index = 0; index < 40; index++) {
        const { status } = await slow.request('POST', `/v1/runs/${id}/steer`, { prompt: `m${index}` })
        if (status === 409) break
        if (status === 202) acknowledged.push(`m${index}`)
        // The messages of each round fall at other places.
        if (index === round) await new Promise(resolve => setTimeout(resolve, round * 2))
      }
      const events = await slow.events(id)
      await slow.run({ prompt: 'and?', conversation_id: conversation })
      expect(received(events)).toEqual(acknowledged)
      expect(heard).toEqual(['go', ...acknowledged, 'and?'])
    }
    await slow.stop()
  })

  test.each([
    [{}, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: ' \n' }, 'prompt: must say something'],
    [{ prompt: 7 }, 'prompt'],
  ])('%j is refused, naming the prompt', async (body, named) => {
    respond = () => ({ text: 'x' })
    const id = await booted.start('go')
    const reply = await booted.request('POST', `/v1/runs/${id}/steer`, body)
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_request'])
    expect(reply.body.error.message).toContain(named)
  })

  test('a run that ended, or that nobody knows, cannot be steered', async () => {
    respond = () => ({ text: 'x' })
    const id = (await booted.run('go'))[0]!.run_id
    const replies = [await steer(id, 'late'), await steer('run_x', 'who?')]
    expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual([
      [409, 'run_not_active'],
      [404, 'not_found'],
    ])
  })

  test('a run whose plan waits for approval says so, and is steered once it plans on', async () => {
    const heard: (readonly string[])[] = []
    respond = said => {
      heard.push(usersOf(said))
      return heard.length === 2 ? { text: 'x', hang: true } : { text: 'x' }
    }
    const id = await booted.start({ prompt: 'go', plan_mode: true })
    await booted.until(id, 'tool.approval_required')
    expect(await steer(id, 'too early')).toMatchObject({
      status: 409,
      body: { error: { code: 'run_not_active', message: expect.stringContaining(`${id} is waiting_for_approval`) } },
    })
    await booted.request('POST', `/v1/runs/${id}/deny`)
    await expect.poll(() => heard.length).toBe(2)
    expect((await steer(id, 'in time')).status).toBe(202)
    await booted.request('POST', `/v1/runs/${id}/cancel`)
    expect(heard.flat()).not.toContain('too early')
  })

  test('a run that waits for its user reads it after the answer', async () => {
    const options = ['a', 'b'].map(label => ({ label, description: label }))
    const questions = [{ question: 'q?', header: 'q', options }]
    const heard: (readonly string[])[] = []
    respond = (said, index) => {
      heard.push(usersOf(said))
      return index === 0
        ? { toolCalls: [{ id: 'q', name: 'AskUserQuestion', arguments: { questions } }] }
        : { text: 'x' }
    }
    const id = await booted.start('go')
    await booted.until(id, 'run.waiting_for_user')
    expect((await steer(id, 'be quick')).status).toBe(202)
    await booted.request('POST', `/v1/runs/${id}/input`, { answers: { 'q?': 'a' } })
    await booted.events(id)
    expect(heard).toEqual([['go'], ['go', 'be quick']])
  })
})

test('a queued run reads it with its first step, and a queued run can be cancelled', async () => {
  const booted = await boot({
    turns: [{ content: 'a b', hang: true }, { content: 'mine' }],
    settings: { max_concurrent_runs: 1 },
  })
  const first = await booted.start('first')
  await booted.until(first, 'assistant.message.delta')
  const [second, third] = [await booted.start('second'), await booted.start('third')]
  expect((await booted.request('POST', `/v1/runs/${second}/steer`, { prompt: 'hi' })).status).toBe(202)
  await booted.request('POST', `/v1/runs/${third}/cancel`)
  expect((await booted.events(third)).map(({ type }) => type)).toEqual(['run.started', 'run.queued', 'run.cancelled'])
  await booted.request('POST', `/v1/runs/${first}/cancel`)
  expect((await booted.request('POST', `/v1/runs/${third}/steer`, { prompt: 'hi' })).body.error.code).toBe(
    'run_not_active',
  )
  const events = await booted.events(second)
  expect([received(events), events.at(-1)?.payload?.output]).toEqual([['hi'], 'mine'])
  await booted.stop()
})

describe('over SIGKILL', () => {
  const ROUNDS = 6
  let bench: RestartBench
  afterEach(() => bench.close())

  // Seven processes, one after the other.
  test('every acknowledged message is in the history exactly once', { timeout: 90_000 }, async () => {
    let heard: readonly string[] = []
    let mayEnd = false
    let calls = 0
    bench = await RestartBench.open({
      respond: ({ body }): ChatTurn => {
        heard = usersOf(saidTo(body))
        return mayEnd ? { text: 'done' } : { toolCalls: [{ id: `c${calls++}`, name: 'ls', arguments: {} }], delayMs: 3 }
      },
    })
    let client = await bench.start()
    const id = await client.start('go')
    const acknowledged: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      let killed: Promise<void> | undefined
      for (let index = 0, count = 0; ; index++) {
        const text = `r${round}-${index}`
        const reply = await client.request('POST', `/v1/runs/${id}/steer`, { prompt: text }).catch(() => undefined)
        if (!reply) break
        if (reply.status === 202) acknowledged.push(text)
        if (reply.status === 202 && ++count > round) killed ??= bench.daemon.kill()
      }
      await killed
      client = await bench.start()
    }
    mayEnd = true
    const events = await client.events(id)
    expect(events.at(-1)?.type).toBe('run.completed')
    expect(acknowledged.length).toBeGreaterThan(ROUNDS)
    const counts = new Map(heard.map(text => [text, heard.filter(each => each === text).length]))
    expect(acknowledged.filter(text => counts.get(text) !== 1)).toEqual([])
    expect([...counts].filter(([, count]) => count !== 1)).toEqual([])
    expect(received(events).filter(text => acknowledged.includes(text))).toEqual(acknowledged)
  })
})
