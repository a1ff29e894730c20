import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { requestText, sendRaw } from '#test/kit/raw-http'
import { framesIn, idOf, readStream } from '#test/kit/stream-reader'

let live: Booted
let finished = ''
let other = ''
let running = ''
let length = 0

beforeAll(async () => {
  live = await boot({
    turns: [{ content: 'one' }, { content: 'two' }, { content: 'three', delay_ms: 600_000 }],
  })
  finished = (await live.run('a'))[0]!.run_id
  other = (await live.run('b'))[0]!.run_id
  running = await live.start('c')
  await live.until(running, 'llm.turn.requested')
  length = (await live.events(finished)).length
})
afterAll(async () => {
  await live.request('POST', `/v1/runs/${running}/cancel`)
  await live.stop()
})

const read = async (runId: string, lastEventId?: string) => {
  const { status, bytes } = await readStream(`${live.url}/v1/runs/${runId}/events`, {
    ...(lastEventId !== undefined && { lastEventId }),
  })
  return { status, ids: framesIn(bytes).map(idOf) }
}
const idsOf = (runId: string, from = 0) =>
  Array.from({ length: Math.max(0, length - from) }, (_, index) => `${runId}:${from + index}`)

describe('a Last-Event-ID that names no place in this run has the run replayed from its start', () => {
  test.each<[string, () => string | undefined]>([
    ['absent', () => undefined],
    ['empty', () => ''],
    ['no number', () => finished],
    ['an empty number', () => `${finished}:`],
    ['no run', () => ':3'],
    ['a word', () => 'latest'],
    ['another run', () => `${other}:3`],
    ['a run that is not there', () => 'run_00000000-0000-4000-8000-000000000000:3'],
    ['negative', () => `${finished}:-1`],
    ['a fraction', () => `${finished}:1.5`],
    ['an exponent', () => `${finished}:1e0`],
    ['hexadecimal', () => `${finished}:0x1`],
    ['beyond 2^53', () => `${finished}:9007199254740993`],
    ['far beyond 2^53', () => `${finished}:${'9'.repeat(40)}`],
    ['twelve kilobytes', () => 'x'.repeat(12_000)],
    ['twelve kilobytes of digits', () => `${finished}:${'1'.repeat(12_000)}`],
    ['several', () => `${finished}:1, ${finished}:2`],
    ['latin-1 letters', () => `${finished}:\u00b2`],
  ])('%s', async (_, header) => {
    expect(await read(finished, header())).toEqual({ status: 200, ids: idsOf(finished) })
  })
})

test('a number of this run goes on right after it', async () => {
  expect(await read(finished, `${finished}:0`)).toEqual({ status: 200, ids: idsOf(finished, 1) })
  expect(await read(finished, `${finished}:0003`)).toEqual({ status: 200, ids: idsOf(finished, 4) })
  expect(await read(finished, `  ${finished}:${length - 2}  `)).toEqual({
    status: 200,
    ids: idsOf(finished, length - 1),
  })
})

test('at or beyond the end of a finished run there is nothing more, told by 204, however often one asks', async () => {
  for (const seq of [length - 1, length - 1, length, 9_007_199_254_740_991])
    expect(await read(finished, `${finished}:${seq}`)).toEqual({ status: 204, ids: [] })
})

test('a future number of a running run waits in silence for what comes after it', async () => {
  const abort = new AbortController()
  const reading = readStream(`${live.url}/v1/runs/${running}/events`, {
    lastEventId: `${running}:500`,
    signal: abort.signal,
  })
  await expect.poll(() => live.daemon.openStreams).toBe(1)
  const whole = await readStream(`${live.url}/v1/runs/${running}/events`, {
    isEnough: bytes => framesIn(bytes).length >= 4,
  })
  expect(framesIn(whole.bytes).length).toBeGreaterThanOrEqual(4)
  abort.abort()
  const { status, bytes } = await reading
  expect({ status, text: bytes.toString() }).toEqual({ status: 200, text: '' })
})

describe('bytes that no client library sends', () => {
  const host = () => `host: 127.0.0.1:${live.daemon.port}`
  const raw = (lines: readonly string[]) =>
    sendRaw(
      live.daemon.port,
      Buffer.from(requestText('GET', `/v1/runs/${finished}/events`, [host(), 'connection: close', ...lines]), 'latin1'),
    )

  test.each([
    ['a NUL', 'x\0y', 400],
    ['a lone CR', 'a\rb', 400],
    ['a lone LF', 'a\nb', 400],
    ['twenty kilobytes', 'x'.repeat(20_480), 431],
  ])('%s is refused with the envelope', async (_, value, status) => {
    const reply = await raw([`last-event-id: ${value}`])
    expect(reply.status).toBe(status)
    expect(JSON.parse(reply.body)).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } })
  })

  test('CR LF ends the header: what follows is a header of its own and the id is what stands before', async () => {
    const reply = await raw([`last-event-id: ${finished}:${length - 3}\r\nx-more: 1`])
    expect(reply.status).toBe(200)
    expect([...reply.body.matchAll(/^id: (.*)$/gm)].map(([, id]) => id?.trim())).toEqual(idsOf(finished, length - 2))
  })

  test('two headers name no place', async () => {
    const reply = await raw([`last-event-id: ${finished}:3`, `last-event-id: ${finished}:4`])
    expect([...reply.body.matchAll(/^id: (.*)$/gm)].map(([, id]) => id?.trim())).toEqual(idsOf(finished))
  })
})
