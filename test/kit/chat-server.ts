import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { CHAT_WIRE, type ScriptedTurn, type ScriptedWire } from './chat-wire.js'
import { type ModelCall, type ModelServer, startModelServer } from './model-server.js'
import { loopTurns } from './model-stream.js'

/** One turn of a scripted model server. */
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
export const startChatServer = (script: ChatScript): Promise<ChatServer> => startScriptedServer(CHAT_WIRE, script)

/** The same on any wire. With `random`, answers are sent in pieces that end anywhere. */
export async function startScriptedServer(
  wire: ScriptedWire,
  script: ChatScript,
  random?: () => number,
): Promise<ChatServer> {
  const server = await startModelServer(async (call, response, index) => {
    const refuse = refusals(wire, response)
    if (!call.path.split('?')[0]?.endsWith(wire.path)) return refuse(404, `no such path: ${call.path}`)
    const turn = 'turns' in script ? script.turns[index] : await script.respond(call, index)
    if (turn === undefined) return refuse(500, `request ${index} has no scripted turn`)
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    if (turn.delayMs) await wait(turn.delayMs, undefined, { signal: gone.signal })
    if (turn.status !== undefined)
      return refuse(turn.status, turn.errorMessage ?? 'scripted error', turn.errorCode, turn.headers)
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...turn.headers })
    const frames = wire.frames(turn)
    await play(turn, random ? cutAnywhere(frames, random) : frames, response, gone.signal)
  })
  return { ...server, baseUrl: `${server.origin}/v1` }
}

function cutAnywhere(frames: readonly string[], random: () => number): readonly Buffer[] {
  const bytes = Buffer.from(frames.join(''))
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + Math.floor(random() ** 2 * 300)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

async function play(
  turn: ChatTurn,
  frames: readonly (string | Buffer)[],
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  if (!turn.chunkDelayMs && !turn.hang && turn.breakAfterChunks === undefined && typeof frames[0] === 'string') {
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
    else await loopTurns(1)
  }
  response.end()
}

const refusals =
  (wire: ScriptedWire, response: ServerResponse) =>
  (status: number, message: string, code?: string, headers: Readonly<Record<string, string>> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(wire.error(message, code))
  }
