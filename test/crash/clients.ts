import { setTimeout as sleep } from 'node:timers/promises'
import type { Journal } from './journal.js'

const RETRY_MS = 25

/** Where the daemon is at the moment; it moves with every restart. */
export interface Target {
  url: string
}

/** Starts runs, one after another, each followed to its end, until told to stop. Journals what it is told. */
export async function lane(name: string, target: Target, journal: Journal, isOver: () => boolean): Promise<void> {
  for (let count = 0; !isOver(); count++) {
    const prompt = `${name}-${count}`
    const runId = await start(prompt, target, isOver)
    if (runId === undefined) return
    journal.acknowledge(runId, prompt)
    await follow(runId, target, journal, isOver)
  }
}

/** A start is sent again, under its key, until somebody acknowledges it. */
async function start(prompt: string, target: Target, isOver: () => boolean): Promise<string | undefined> {
  for (;;) {
    try {
      const response = await fetch(`${target.url}/v1/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': prompt },
        body: JSON.stringify({ prompt }),
      })
      if (response.status === 202) return ((await response.json()) as { run_id: string }).run_id
      await response.text()
    } catch {
      // Nothing was acknowledged.
    }
    if (isOver()) return undefined
    await sleep(RETRY_MS)
  }
}

/** Reads a run's stream to its end over any number of connections, each going on after the last whole frame. */
export async function follow(runId: string, target: Target, journal: Journal, isOver: () => boolean): Promise<void> {
  let last: string | undefined
  while (!journal.ended.has(runId) && !isOver()) {
    try {
      const response = await fetch(`${target.url}/v1/runs/${runId}/events`, {
        headers: last === undefined ? {} : { 'last-event-id': last },
      })
      if (response.status === 200 && response.body)
        for await (const frame of frames(response.body as unknown as AsyncIterable<Uint8Array>)) {
          journal.show(frame.id, frame.type, frame.data)
          last = frame.id
        }
      else await response.text()
    } catch {
      // Cut; what was read so far stands.
    }
    if (!journal.ended.has(runId)) await sleep(RETRY_MS)
  }
}

/** Whole frames of a stream; a half one at the end does not count. */
export async function* frames(body: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true })
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n')
      rest = rest.slice(end + 2)
      const field = (name: string) => lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const [id, type, data] = [field('id'), field('event'), field('data')]
      if (id !== undefined && type !== undefined && data !== undefined) yield { id, type, data }
    }
  }
}
