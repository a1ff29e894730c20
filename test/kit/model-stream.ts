import type { ServerResponse } from 'node:http'

/** Begins an answer as server-sent events. */
export const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })

/** Lets the event loop go round so often, so that what was written has been read. */
export async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
}
