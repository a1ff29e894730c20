import { afterEach, expect, test } from 'vitest'
import type { StoredEvent } from '#contracts/event/envelope'
import { EVENTS } from '#contracts/ports'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'

let live: Booted | undefined
const start = async (options?: BootOptions) => {
  live = await boot(options)
  const events = live.daemon.host.current.port(EVENTS)
  if (!events) throw new Error('no events')
  return { ...live, port: events }
}
afterEach(async () => {
  await live?.stop()
  live = undefined
})

const TURNS = [{ deltas: Array.from({ length: 200 }, (_, index) => ({ content: `${index} ` })), delta_delay_ms: 1 }]
const NEVER = new AbortController().signal

async function collect(pages: AsyncIterable<readonly StoredEvent[]> | undefined): Promise<readonly StoredEvent[]> {
  const seen: StoredEvent[] = []
  for await (const page of pages ?? []) seen.push(...page)
  return seen
}

test('following a running run gives every event once, in order, and ends with the terminal one', async () => {
  const { start: begin, port } = await start({ turns: TURNS, isDurable: true })
  const runId = await begin('go')
  const seen = await collect(await port.follow('default', runId, undefined, NEVER))
  expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index))
  expect(seen.at(-1)?.type).toBe('run.completed')
  expect(await port.read('default', runId, undefined, 10_000)).toEqual(seen)
  expect(await collect(await port.follow('default', runId, 5, NEVER))).toEqual(seen.slice(6))
  expect(await collect(await port.follow('default', runId, seen.length, NEVER))).toEqual([])
})

test('an aborted follower is let go while the run goes on, and leaves nothing behind', async () => {
  const { start: begin, port, until, request } = await start({ turns: [{ content: 'late', delay_ms: 600_000 }] })
  const runId = await begin('go')
  await until(runId, 'llm.turn.requested')
  const stop = new AbortController()
  const following = collect(await port.follow('default', runId, undefined, stop.signal))
  setTimeout(() => stop.abort(new Error('enough')), 50)
  await expect(following).rejects.toThrow('enough')
  expect((await request('GET', `/v1/runs/${runId}`)).body.status).toBe('running')
  await request('POST', `/v1/runs/${runId}/cancel`)
})

test('an unknown run, and one of another tenant, have nothing to follow', async () => {
  const { run, port } = await start()
  const runId = (await run('go'))[0]!.run_id
  expect(await port.follow('default', 'run_nope', undefined, NEVER)).toBeUndefined()
  expect(await port.follow('acme', runId, undefined, NEVER)).toBeUndefined()
  expect(await port.read('acme', runId, undefined, 5)).toBeUndefined()
})

test('a follower that keeps up piles up no wake-ups', async () => {
  const { start: begin, port } = await start({ turns: TURNS })
  const runId = await begin('go')
  const stop = new AbortController()
  let listeners = 0
  const add = stop.signal.addEventListener.bind(stop.signal)
  const remove = stop.signal.removeEventListener.bind(stop.signal)
  stop.signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1
    add(...args)
  }
  stop.signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1
    remove(...args)
  }
  await collect(await port.follow('default', runId, undefined, stop.signal))
  expect(listeners).toBe(0)
})
