import { expect } from 'vitest'
import { isTerminalEvent } from '#contracts/event/payloads'
import { boot } from '#test/kit/boot'
import { startChatServer } from '#test/kit/chat-server'

/** Cancels runs at random moments of their life, from before they begin to after they end, and compares all accounts of each. */
export async function cancelAtRandom(random: () => number, runs: number, atOnce: number): Promise<void> {
  const model = await startChatServer({
    respond: ({ body }) => {
      const isCalled = ((body?.messages ?? []) as { role: string }[]).some(({ role }) => role === 'tool')
      const chunkDelayMs = Math.floor(random() * 4)
      if (isCalled) return { chunks: ['all ', 'done'], chunkDelayMs }
      return { toolCalls: [{ id: 'one', name: 'ls', arguments: { path: '.' } }], chunkDelayMs }
    },
  })
  const live = await boot({ modelUrl: model.baseUrl, isDurable: true })
  const ends = { completed: 0, cancelled: 0, failed: 0 }
  const lane = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const runId = await live.start('go')
      const waitMs = random() < 0.2 ? 0 : random() * 60
      if (waitMs > 0) await new Promise(resolve => setTimeout(resolve, waitMs))
      const [first, second] = await Promise.all([cancel(runId), cancel(runId)])
      expect([first.status, second.status]).toEqual([200, 200])
      const events = await live.events(runId)
      const terminal = events.filter(({ type }) => isTerminalEvent(type))
      expect(terminal).toHaveLength(1)
      expect(events.at(-1)).toBe(terminal[0])
      const status = terminal[0]!.type.slice('run.'.length) as keyof typeof ends
      ends[status] += 1
      expect((await live.request('GET', `/v1/runs/${runId}`)).body.status).toBe(status)
      const summary = await live.request('GET', `/v1/runs/${runId}/summary`)
      if (status === 'cancelled') expect(summary).toMatchObject({ status: 409 })
      else expect(summary).toMatchObject({ status: 200, body: { run_id: runId, status } })
    }
  }
  const cancel = (runId: string) => live.request('POST', `/v1/runs/${runId}/cancel`)
  try {
    await Promise.all(Array.from({ length: atOnce }, () => lane(Math.ceil(runs / atOnce))))
    console.log(JSON.stringify(ends))
    expect(ends.failed).toBe(0)
    expect(ends.cancelled).toBeGreaterThan(0)
    expect(live.daemon.runs.size).toBe(0)
    // The store says the same as memory did.
    const listed = (await live.request('GET', '/v1/runs')).body.runs as { status: keyof typeof ends }[]
    for (const status of ['completed', 'cancelled'] as const)
      expect(listed.filter(run => run.status === status)).toHaveLength(Math.min(ends[status], 1000))
  } finally {
    await live.stop()
    await model.close()
  }
}
