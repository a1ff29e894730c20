import { afterEach, expect, test } from 'vitest'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'
import { framesIn, idOf, type ReadOptions, readStream } from '#test/kit/stream-reader'

let live: Booted | undefined
const start = async (options?: BootOptions): Promise<Booted> => {
  live = await boot(options)
  return live
}
afterEach(async () => {
  await live?.stop()
  live = undefined
})

const TURNS = Array.from({ length: 12 }, (_, index) => ({
  deltas: [{ content: `a${index} ` }, { content: 'b' }],
  delta_delay_ms: 3,
}))
const url = (id = 'talk') => `${live?.url}/v1/conversations/${id}/events`
/** Reads until that many runs have ended in view. */
const readEnds = (ends: number, options: ReadOptions = {}) =>
  readStream(url(), {
    ...options,
    isEnough: bytes =>
      (bytes.toString('latin1').match(/^event: run\.(completed|failed|cancelled)$/gm)?.length ?? 0) >= ends,
  })
const idsIn = (bytes: Buffer) => framesIn(bytes).map(idOf)

test.each([{ isDurable: false }, { isDurable: true }])(
  'a conversation shows every run once, in order, also those that start later; ends do not end it (%j)',
  { timeout: 60_000 },
  async ({ isDurable }) => {
    const { start: begin, run, events } = await start({ isDurable, turns: TURNS })
    const first = await run({ prompt: 'one', conversation_id: 'talk' })
    const watching = readEnds(6)
    await expect.poll(() => live?.daemon.openStreams).toBe(1)
    const later = await Promise.all(
      Array.from({ length: 5 }, (_, index) => begin({ prompt: `later ${index}`, conversation_id: 'talk' })),
    )
    await run({ prompt: 'elsewhere', conversation_id: 'other' })
    const { bytes, isWhole } = await watching
    expect(isWhole).toBe(false)
    const ids = idsIn(bytes)
    expect(new Set(ids).size).toBe(ids.length)
    // Each run's own events stand in their own order, none is missing, and none is of another conversation.
    for (const runId of [first[0]!.run_id, ...later]) {
      const own = ids.filter(id => id.startsWith(`${runId}:`))
      expect(own).toEqual((await events(runId)).map(({ id }) => id))
    }
    expect(ids.length).toBe((await Promise.all([first[0]!.run_id, ...later].map(events))).flat().length)
    // A second reader sees the very same order, and one that comes back goes on in the middle of it.
    const again = await readEnds(6)
    expect(idsIn(again.bytes)).toEqual(ids)
    const middle = Math.floor(ids.length / 2)
    const rest = await readEnds(6 - endsBefore(bytes, middle), { lastEventId: ids[middle]! })
    expect(rest.headers['x-conversation-resync']).toBeUndefined()
    expect(idsIn(rest.bytes)).toEqual(ids.slice(middle + 1))
  },
)

const endsBefore = (bytes: Buffer, index: number) =>
  framesIn(bytes)
    .slice(0, index + 1)
    .filter(frame => /^event: run\.(completed|failed|cancelled)$/m.test(frame)).length

test('a place that is not in the conversation starts over and says so', async () => {
  const { run } = await start({ turns: TURNS })
  const events = await run({ prompt: 'one', conversation_id: 'talk' })
  const other = await run({ prompt: 'two', conversation_id: 'other' })
  for (const lastEventId of [`${other[0]!.run_id}:1`, 'run_nope:3', `${events[0]!.run_id}:9999`]) {
    const { headers, bytes } = await readEnds(1, { lastEventId })
    expect(headers['x-conversation-resync']).toBe('required')
    expect(idsIn(bytes)).toEqual(events.map(({ id }) => id))
  }
  const { headers, bytes } = await readEnds(1, { lastEventId: 'malformed' })
  expect(headers['x-conversation-resync']).toBeUndefined()
  expect(idsIn(bytes)).toEqual(events.map(({ id }) => id))
})

test('a conversation nobody has heard of is not found', async () => {
  const { request } = await start()
  expect(await request('GET', '/v1/conversations/never/events')).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found' } },
  })
})

test('a conversation is there after a restart, in the same order', async () => {
  const first = await start({ isDurable: true, turns: TURNS })
  await Promise.all(['a', 'b', 'c'].map(prompt => first.run({ prompt, conversation_id: 'talk' })))
  const before = await readEnds(3)
  await first.daemon.stop()
  live = await boot({ dir: first.dir, isDurable: true, turns: TURNS })
  const after = await readEnds(3)
  expect(after.bytes.toString()).toBe(before.bytes.toString())
  await first.stop()
})
