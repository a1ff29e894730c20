import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { seeded } from '#test/kit/seed'
import { framesIn, idOf, readInPieces, readStream } from '#test/kit/stream-reader'

const random = seeded('resume')
const words = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index} ⟨wört ${'x'.repeat(index % 97)}⟩ `)
const turnsOf = (count: number, delayMs = 0) => [
  { deltas: words(count).map(content => ({ content })), ...(delayMs > 0 && { delta_delay_ms: delayMs }) },
]

let dir = ''
let live: Booted | undefined
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-resume-'))
})
afterEach(async () => {
  await live?.stop()
  live = undefined
  await rm(dir, { recursive: true, force: true })
})

const eventsUrl = (runId: string) => `${live?.url}/v1/runs/${runId}/events`

/** A run's frames as the store has them, one string each, after checking that they are numbered without a hole. */
async function logOf(runId: string): Promise<readonly string[]> {
  const { bytes, isWhole } = await readStream(eventsUrl(runId))
  const frames = framesIn(bytes)
  expect(isWhole).toBe(true)
  expect(frames.join('')).toBe(bytes.toString('utf8'))
  expect(frames.map(idOf)).toEqual(frames.map((_, index) => `${runId}:${index}`))
  return frames
}

test.each([
  { store: 'memory', isDurable: false },
  { store: 'sqlite', isDurable: true },
])('a finished run read in random pieces equals its log, bytes and order ($store)', async ({ isDurable }) => {
  live = await boot({ dir, isDurable, turns: turnsOf(600) })
  const runId = await live.start('go')
  await live.events(runId)
  const log = await logOf(runId)
  const { frames, connections } = await readInPieces(eventsUrl(runId), random, 6_000)
  expect(frames).toEqual(log)
  expect(connections).toBeGreaterThan(20)
})

test('a run read in random pieces while it is running equals its log', async () => {
  live = await boot({ dir, isDurable: true, turns: turnsOf(400, 2) })
  const runId = await live.start('go')
  const readers = await Promise.all(Array.from({ length: 5 }, () => readInPieces(eventsUrl(runId), random, 4_000)))
  const log = await logOf(runId)
  for (const { frames } of readers) expect(frames).toEqual(log)
})

test('after a restart the pieces come from the store and are the same bytes', async () => {
  live = await boot({ dir, isDurable: true, turns: turnsOf(500) })
  const runId = await live.start('go')
  await live.events(runId)
  const before = await logOf(runId)
  await live.stop()
  live = await boot({ dir, isDurable: true })
  expect(await logOf(runId)).toEqual(before)
  expect((await readInPieces(eventsUrl(runId), random, 6_000)).frames).toEqual(before)
})
