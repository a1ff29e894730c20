import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseEventId } from '#contracts/event/envelope'
import { isTerminalEvent } from '#contracts/event/payloads'

export interface ScriptedEvent {
  readonly type: string
  readonly payload?: Readonly<Record<string, unknown>>
}

export interface ProtocolServerOptions {
  readonly events: readonly ScriptedEvent[]
  /** After so many bytes of each connection in turn, it is cut; connections beyond the list stay whole. */
  readonly cutAfterBytes?: readonly number[]
  /** Sends each chunk of a stream in pieces of this size. */
  readonly pieceBytes?: number
  /** Starts every connection at the first event, whatever the client has seen. */
  readonly isForgetful?: boolean
  /** Answers instead of the routes when it returns something. */
  readonly answer?: (request: {
    readonly method: string
    readonly path: string
  }) => { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> } | undefined
  readonly status?: string
}

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export const RUN_ID = 'run_00000000-0000-4000-8000-000000000001'

/** The line of an event, as it is stored and sent. */
export const lineOf = (event: ScriptedEvent, seq: number): string =>
  JSON.stringify({
    id: `${RUN_ID}:${seq}`,
    run_id: RUN_ID,
    type: event.type,
    timestamp: new Date(Date.UTC(2026, 0, 1) + seq * 100).toISOString(),
    payload: { ...event.payload, schema_version: 1, conversation_id: RUN_ID, step: 1 },
  })

/**
 * A real HTTP server that speaks the run protocol from a script: enough to test a client without a daemon. A script
 * without a terminal event leaves its streams open until the run is cancelled.
 */
export async function openProtocolServer(options: ProtocolServerOptions) {
  const seen: SeenRequest[] = []
  const cuts = [...(options.cutAfterBytes ?? [])]
  const events = [...options.events]
  const live = new Set<ServerResponse>()

  async function stream(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const resumed = parseEventId(request.headers['last-event-id'] as string | undefined)?.seq
    const after = options.isForgetful ? -1 : (resumed ?? -1)
    const isOver = events.some(({ type }) => isTerminalEvent(type))
    if (isOver && after >= events.length - 1) return void response.writeHead(204).end()
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
    const frames = events.map((event, seq) => frameOf(event, seq)).slice(after + 1)
    const bytes = Buffer.from(`: ping\n\n${frames.join('')}`)
    const cut = cuts.shift()
    const sent = bytes.subarray(0, cut ?? bytes.length)
    const piece = options.pieceBytes ?? sent.length
    for (let at = 0; at < sent.length; at += piece)
      await new Promise<void>(resolve => response.write(sent.subarray(at, at + piece), () => resolve()))
    if (cut !== undefined && cut < bytes.length) response.destroy()
    else if (isOver) response.end()
    else live.add(response)
  }

  function cancel(): void {
    events.push({ type: 'run.cancelled', payload: TOTALS })
    for (const response of live) response.end(frameOf(events.at(-1) as ScriptedEvent, events.length - 1))
    live.clear()
  }

  const server = createServer(async (request, response) => {
    const method = request.method ?? ''
    const path = request.url ?? ''
    const text = await readAll(request)
    seen.push({ method, path, headers: request.headers, body: text === '' ? undefined : JSON.parse(text) })
    const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    const own = options.answer?.({ method, path })
    if (own) return json(own.status, own.body, own.headers)
    if (method === 'POST' && path === '/v1/runs') return json(202, { run_id: RUN_ID, status: 'queued' })
    if (path === `/v1/runs/${RUN_ID}/events`) return stream(request, response)
    if (path === `/v1/runs/${RUN_ID}`)
      return json(200, { id: RUN_ID, status: options.status ?? 'running', ...ANSWERED_BY })
    if (path === `/v1/runs/${RUN_ID}/cancel`) {
      json(200, { status: 'cancelling' })
      return cancel()
    }
    if (path === '/healthz') return json(200, { status: 'ok' })
    return json(404, { error: { code: 'not_found', message: `there is no ${path}` } })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    lines: () => events.map((event, seq) => `${lineOf(event, seq)}\n`).join(''),
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const ANSWERED_BY = { model: 'gpt-4.1-mini', provider_name: 'openai' }

const TOTALS = {
  usage_totals: { prompt_tokens_total: 0, completion_tokens_total: 0, total_tokens: 0, last_turn_tokens: 0 },
  cost_totals: { cost_usd_total: 0, last_turn_cost_usd: 0, cost_status: 'pending' },
}

const frameOf = (event: ScriptedEvent, seq: number): string =>
  `id: ${RUN_ID}:${seq}\nretry: 3000\nevent: ${event.type}\ndata: ${lineOf(event, seq)}\n\n`

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
