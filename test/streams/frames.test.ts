import { afterEach, expect, test } from 'vitest'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'
import { framesIn, readStream } from '#test/kit/stream-reader'

let live: Booted | undefined
const start = async (options?: BootOptions): Promise<Booted> => {
  live = await boot(options)
  return live
}
afterEach(async () => {
  await live?.stop()
  live = undefined
})

const RUN = 'run_[0-9a-f-]{36}'
const FRAME = new RegExp(
  `^id: (${RUN}):(\\d+)\\nretry: 3000\\nevent: ([a-z_.]+)\\ndata: ({"id":"\\1:\\2","run_id":"\\1","type":"\\3",[^\\n]*})\\n\\n$`,
)

test('a stream has the headers and the four-line frames of the contract and nothing else', async () => {
  const { run, url } = await start()
  const runId = (await run('hi'))[0]!.run_id
  const { status, headers, bytes, isWhole } = await readStream(`${url}/v1/runs/${runId}/events`)
  expect({ status, isWhole }).toEqual({ status: 200, isWhole: true })
  expect(headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    connection: 'keep-alive',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  const frames = framesIn(bytes)
  expect(bytes.toString('utf8')).toBe(frames.join(''))
  expect(frames.filter(frame => !FRAME.test(frame))).toEqual([])
})

test('a silent run is pinged at the configured interval', async () => {
  const {
    start: begin,
    until,
    url,
    request,
  } = await start({
    turns: [{ content: 'late', delay_ms: 600_000 }],
    settings: { sse_keepalive_seconds: 1 },
  })
  const runId = await begin('go')
  await until(runId, 'llm.turn.requested')
  const openedAt = performance.now()
  await readStream(`${url}/v1/runs/${runId}/events`, {
    isEnough: bytes => (bytes.toString('utf8').match(/^: ping\n\n/gm) ?? []).length === 4,
  })
  const tookMs = performance.now() - openedAt
  expect(tookMs).toBeGreaterThan(3_800)
  // Far from four of the default of 15 s, however busy the machine is.
  expect(tookMs).toBeLessThan(15_000)
  await request('POST', `/v1/runs/${runId}/cancel`)
})

test('the stream of a run ends by itself with the terminal event, once, as its last frame', async () => {
  const { start: begin, url } = await start({
    turns: [{ deltas: Array.from({ length: 50 }, (_, index) => ({ content: `${index} ` })), delta_delay_ms: 2 }],
  })
  const runId = await begin('go')
  const readings = await Promise.all(Array.from({ length: 3 }, () => readStream(`${url}/v1/runs/${runId}/events`)))
  for (const { bytes, isWhole } of readings) {
    const types = framesIn(bytes).map(frame => FRAME.exec(frame)?.[3])
    expect(isWhole).toBe(true)
    expect(types.filter(type => /^run\.(completed|failed|cancelled)$/.test(type ?? ''))).toEqual(['run.completed'])
    expect(types.at(-1)).toBe('run.completed')
  }
  expect(live?.daemon.openStreams).toBe(0)
})

test('an unknown run has no stream', async () => {
  const { url } = await start()
  const { status, bytes } = await readStream(`${url}/v1/runs/run_nope/events`)
  expect({ status, body: JSON.parse(bytes.toString()) }).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found' } },
  })
})
