import { Agent, request } from 'undici'

/** What a reader saw of one run. */
export interface Seen {
  readonly isCompleted: boolean
  readonly frames: number
  /** Events that should have come before the last one and did not. */
  readonly lost: number
}

/** Every event has this line, and no data line can hold it; comments such as pings have none. */
const EVENT_LINE = '\nevent: '
/** Enough for the last frame of every script. */
const KEPT_BYTES = 64 * 1024
const LAST_ID = /^id: \S*:(\d+)$/gm
const COMPLETED = /^event: run\.completed$/m

/**
 * The run protocol, as cheaply as a caller can speak it: connections kept alive, frames counted by their event lines and
 * never parsed, so that the driver does not bound the figures.
 */
export class RunClient {
  readonly #agent = new Agent({
    pipelining: 1,
    headersTimeout: 120_000,
    bodyTimeout: 120_000,
    keepAliveTimeout: 30_000,
  })

  constructor(private readonly origin: string) {}

  /** Starts a run and returns its id. */
  async start(conversationId?: string): Promise<string> {
    const response = await request(`${this.origin}/v1/runs`, {
      method: 'POST',
      dispatcher: this.#agent,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        prompt: 'hello',
        model: 'bench-model',
        allow_fallback: true,
        ...(conversationId !== undefined && { conversation_id: conversationId }),
      }),
    })
    const text = await response.body.text()
    if (response.statusCode !== 202) throw new Error(`a run was refused: ${response.statusCode} ${text.slice(0, 300)}`)
    return (JSON.parse(text) as { readonly run_id: string }).run_id
  }

  /** Reads the events of a run to the end of the stream. */
  async follow(runId: string): Promise<Seen> {
    const response = await request(`${this.origin}/v1/runs/${runId}/events`, { dispatcher: this.#agent })
    if (response.statusCode !== 200)
      throw new Error(`no events: ${response.statusCode} ${(await response.body.text()).slice(0, 300)}`)
    const kept: Buffer[] = []
    let keptBytes = 0
    let frames = 0
    let cut = Buffer.alloc(0)
    for await (const piece of response.body as AsyncIterable<Buffer>) {
      const text = Buffer.concat([cut, piece])
      for (let at = text.indexOf(EVENT_LINE); at >= 0; at = text.indexOf(EVENT_LINE, at + 1)) frames++
      // A line that is cut between two pieces counts with the second.
      cut = text.subarray(-(EVENT_LINE.length - 1))
      keptBytes += kept.push(piece) && piece.length
      while (keptBytes - (kept[0]?.length ?? 0) > KEPT_BYTES) keptBytes -= kept.shift()?.length ?? 0
    }
    const end = Buffer.concat(kept).toString('latin1')
    const lastSeq = Number([...end.matchAll(LAST_ID)].at(-1)?.[1] ?? -1)
    return { isCompleted: COMPLETED.test(end), frames, lost: lastSeq + 1 - frames }
  }

  /** Starts a run and reads it to its end; rejects when it does not complete or an event is missing. */
  async run(conversationId?: string): Promise<Seen> {
    const seen = await this.follow(await this.start(conversationId))
    if (!seen.isCompleted) throw new Error('a run did not complete')
    if (seen.lost !== 0) throw new Error(`${seen.lost} events of a run were lost`)
    return seen
  }

  /** Milliseconds that `run` took. */
  async timedRun(conversationId?: string): Promise<number> {
    const startedAt = performance.now()
    await this.run(conversationId)
    return performance.now() - startedAt
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}
