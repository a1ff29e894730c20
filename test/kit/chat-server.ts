import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { CHAT_WIRE, type ScriptedTurn } from './chat-wire.js'
import { type ModelCall, type ModelServer, startModelServer } from './model-server.js'

/** One turn of a scripted chat-completions server. */
export interface ChatTurn extends ScriptedTurn {
  /** Before the first byte. */
  readonly delayMs?: number
  /** Between two chunks. */
  readonly chunkDelayMs?: number
  /** An HTTP error instead of an answer. */
  readonly status?: number
  readonly errorMessage?: string
  readonly errorCode?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Streams everything but the end, then stays silent until the client hangs up. */
  readonly hang?: boolean
  /** Breaks the connection after this many chunks. */
  readonly breakAfterChunks?: number
}

export interface ChatServer extends ModelServer {
  /** For OPENAI_BASE_URL. */
  readonly baseUrl: string
}

export type ChatScript =
  | { readonly turns: readonly ChatTurn[] }
  /** Picks the turn by the request; requests may come in any order. */
  | { readonly respond: (call: ModelCall, index: number) => ChatTurn | Promise<ChatTurn> }

/**
 * A local OpenAI-compatible server that streams a script: one turn per request. Requests after the last turn are
 * answered 500, so that a test that asks too often fails in plain words.
 */
export async function startChatServer(script: ChatScript): Promise<ChatServer> {
  const server = await startModelServer(async (call, response, index) => {
    if (!call.path.split('?')[0]?.endsWith(CHAT_WIRE.path)) return refuse(response, 404, `no such path: ${call.path}`)
    const turn = 'turns' in script ? script.turns[index] : await script.respond(call, index)
    if (turn === undefined) return refuse(response, 500, `request ${index} has no scripted turn`)
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    await play(turn, response, gone.signal)
  })
  return { ...server, baseUrl: `${server.origin}/v1` }
}

async function play(turn: ChatTurn, response: ServerResponse, gone: AbortSignal): Promise<void> {
  if (turn.delayMs) await wait(turn.delayMs, undefined, { signal: gone })
  if (turn.status !== undefined) {
    refuse(response, turn.status, turn.errorMessage ?? 'scripted error', turn.errorCode, turn.headers)
    return
  }
  const frames = CHAT_WIRE.frames(turn)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...turn.headers })
  if (!turn.chunkDelayMs && !turn.hang && turn.breakAfterChunks === undefined) {
    response.end(frames.join(''))
    return
  }
  for (const [index, frame] of frames.entries()) {
    if (index === turn.breakAfterChunks) {
      response.destroy()
      return
    }
    if (turn.hang && index === frames.length - 2) return
    response.write(frame)
    if (turn.chunkDelayMs) await wait(turn.chunkDelayMs, undefined, { signal: gone })
  }
  response.end()
}

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  code?: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(CHAT_WIRE.error(message, code))
}
