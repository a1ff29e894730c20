import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'
import { dataOf, framesIn, idOf, type ReadOptions, readStream } from '#test/kit/stream-reader'

/** Tells what it is asked to; drops and redacts by the words in what it sees. */
const TELLER = `
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { EVENTS } from '#contracts/ports'
export const plugin = definePlugin({
  name: 'teller',
  config: Type.Object({}),
  needs: [EVENTS],
  register(scope) {
    scope.tap('conversationEmitting', event =>
      event.payload.say === 'drop me' ? 'dropped' : { ...event, payload: { ...event.payload, seen: true } })
    scope.tap('eventEmitting', event => (event.type === 'prompt.resolved' ? 'dropped' : event))
    scope.routes(async app => {
      app.post('/v1/teller/:id', { config: { scope: 'runs:write' } }, async ({ identity, params, body }) => ({
        told: await scope.use(EVENTS).tell(identity.tenantId, params.id, body),
      }))
    })
  },
})
`

let live: Booted | undefined
let dir = ''
afterEach(async () => {
  await live?.stop()
  live = undefined
  await rm(dir, { recursive: true, force: true })
})
async function start(options: BootOptions = {}) {
  dir = await mkdtemp(join(tmpdir(), 'runwright-beside-'))
  await mkdir(join(dir, 'plugins', 'teller'), { recursive: true })
  await writeFile(join(dir, 'plugins', 'teller', 'index.js'), TELLER)
  live = await boot({ ...options, settings: { plugin_dirs: [join(dir, 'plugins')] } })
  return live
}
const tell = async (id: string, say: string, more: object = {}) =>
  (await live!.request('POST', `/v1/teller/${id}`, { type: 'probe.told', payload: { say }, ...more })).body
const readTold = (count: number, options: ReadOptions = {}) =>
  readStream(`${live?.url}/v1/conversations/talk/events`, {
    ...options,
    isEnough: bytes => (bytes.toString().match(/^event: probe\.told$/gm)?.length ?? 0) >= count,
  })

test.each([{ isDurable: false }, { isDurable: true }])(
  'what is told beside a run stands in the conversation, in order and once, and in no run (%j)',
  async options => {
    const { run, events, request } = await start(options)
    const [first] = await run({ prompt: 'one', conversation_id: 'talk' })
    const runId = first!.run_id
    const mark = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
    const watching = readTold(2)
    await expect.poll(() => live?.daemon.openStreams).toBe(1)
    expect([await tell(runId, 'a', { mark }), await tell(runId, 'a', { mark })]).toEqual([
      { told: true },
      { told: true },
    ])
    await run({ prompt: 'two', conversation_id: 'talk' })
    expect(await tell(runId, 'b')).toEqual({ told: true })
    const frames = framesIn((await watching).bytes)
    const told = frames.filter(frame => idOf(frame).includes(':conversation:'))
    expect(told.map(frame => JSON.parse(dataOf(frame)))).toEqual(
      ['a', 'b'].map((say, index) => ({
        id:
          index === 0 ? `${runId}:conversation:${mark}` : expect.stringMatching(/^run_.+:conversation:[0-9a-f-]{36}$/),
        run_id: runId,
        type: 'probe.told',
        timestamp: expect.stringMatching(/Z$/),
        payload: { say, seen: true, schema_version: 1, conversation_id: 'talk', step: 1 },
      })),
    )
    expect(told[0]).toMatch(/^id: .+\nretry: 3000\nevent: probe\.told\ndata: \{.+\}\n\n$/)
    // It stands where it was told: behind the first run, before the second.
    const ids = frames.map(idOf)
    expect(ids.indexOf(idOf(told[0]!))).toBe((await events(runId)).length)
    expect((await events(runId)).map(({ type }) => type)).not.toContain('probe.told')
    // A reader that comes back with its id goes on behind it.
    const rest = await readTold(1, { lastEventId: idOf(told[0]!) })
    expect(rest.headers['x-conversation-resync']).toBeUndefined()
    expect(framesIn(rest.bytes).map(idOf)).toEqual(ids.slice(ids.indexOf(idOf(told[0]!)) + 1))
    const lost = await readTold(2, { lastEventId: `${runId}:conversation:${mark}x` })
    expect(lost.headers['x-conversation-resync']).toBe('required')
    // Nobody else's run, no run's own event, and what a plugin drops is gone.
    expect(await tell('run_x', 'c')).toEqual({ told: false })
    expect((await request('POST', `/v1/teller/${runId}`, { type: 'run.completed', payload: {} })).status).toBe(500)
    expect([await tell(runId, 'drop me'), await tell(runId, 'last')]).toEqual([{ told: true }, { told: true }])
    expect((await readTold(3)).bytes.toString()).not.toContain('drop me')
  },
)

test('an event that a plugin drops takes no number', async () => {
  const { run } = await start()
  const events = await run('go')
  expect(events.map(({ type }) => type)).not.toContain('prompt.resolved')
  expect(events.map(({ id }) => Number(id.split(':')[1]))).toEqual(events.map((_, index) => index))
})
