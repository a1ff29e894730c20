import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request a model server got. */
export interface ModelCall {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The parsed body; undefined when it is not JSON. */
  readonly body: Readonly<Record<string, unknown>> | undefined
  readonly bodyText: string
  /** Resolves when the response is over: true when the client hung up before it was complete. */
  readonly closed: Promise<boolean>
}

export type Respond = (call: ModelCall, response: ServerResponse, index: number) => void | Promise<void>

/** A local HTTP server in the place of a model provider. */
export interface ModelServer {
  readonly origin: string
  /** Every request so far, in order of arrival. */
  readonly calls: readonly ModelCall[]
  /** Resolves with the call of this index, once it arrived. */
  call(index: number): Promise<ModelCall>
  /** Connections open now. */
  connections(): number
  close(): Promise<void>
}

/** Starts one on a free port of the loopback; `respond` has the raw response to do as it likes. */
export async function startModelServer(respond: Respond): Promise<ModelServer> {
  const calls: ModelCall[] = []
  const sockets = new Set<Socket>()
  const waiting = new Set<() => void>()
  const server = createServer(async (request, response) => {
    const call = await readCall(request, response)
    const index = calls.push(call) - 1
    for (const wake of waiting) wake()
    try {
      await respond(call, response, index)
    } catch {
      response.destroy()
    }
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  await new Promise<void>(resolve => server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async call(index) {
      while (calls.length <= index)
        await new Promise<void>(resolve => {
          const wake = () => {
            waiting.delete(wake)
            resolve()
          }
          waiting.add(wake)
        })
      return calls[index]!
    },
    connections: () => sockets.size,
    async close() {
      const closed = new Promise(resolve => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

async function readCall(request: IncomingMessage, response: ServerResponse): Promise<ModelCall> {
  const closed = new Promise<boolean>(resolve => {
    response.on('close', () => resolve(!response.writableFinished)).on('error', () => {})
  })
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const bodyText = Buffer.concat(pieces).toString('utf8')
  return { path: request.url ?? '', headers: request.headers, body: parsed(bodyText), bodyText, closed }
}

function parsed(text: string): ModelCall['body'] {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
