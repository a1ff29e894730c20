/**
 * A chat-completions server in a process of its own, forked by the bench and scripted over the channel between them. It
 * keeps no state per conversation, so that any number of runs can be in flight: which turn it is, the tool results in
 * the request say.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CHAT_WIRE } from '#test/kit/chat-wire'
import { type ModelCounts, type ModelOrder, type ModelReply, type ModelScript, PLAIN_SCRIPT } from './model-script.js'

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
const NOTHING = { requests: 0, toolTurns: 0, maxInFlight: 0, lastSentAt: 0 }

let script: ModelScript = PLAIN_SCRIPT
let counts: { -readonly [K in keyof ModelCounts]: ModelCounts[K] } = { ...NOTHING }
let inFlight = 0
const answers = new Map<number, { readonly frames: readonly Buffer[]; readonly whole: Buffer }>()

const reply = (message: ModelReply): void => void process.send?.(message)

process.on('message', (order: ModelOrder) => {
  if ('count' in order) {
    const { user, system } = process.cpuUsage()
    return reply({ counts, cpuMs: (user + system) / 1000 })
  }
  script = order.script
  counts = { ...NOTHING, maxInFlight: inFlight }
  answers.clear()
  reply({ accepted: true })
})
process.on('disconnect', () => process.exit(0))

const server = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    if (!request.url?.endsWith(CHAT_WIRE.path)) return void response.writeHead(404).end()
    answer(Buffer.concat(pieces), response)
  })
})
server.keepAliveTimeout = 60_000
server.requestTimeout = 0
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () =>
  reply({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
)

function answer(body: Buffer, response: ServerResponse): void {
  const turn = turnOf(body)
  counts.requests++
  counts.maxInFlight = Math.max(counts.maxInFlight, ++inFlight)
  if (turn >= 0) counts.toolTurns++
  const timers: { pause?: NodeJS.Timeout; frames?: NodeJS.Timeout } = {}
  response
    .on('error', () => undefined)
    .on('close', () => {
      inFlight--
      clearTimeout(timers.pause)
      clearInterval(timers.frames)
    })
  const send = () => {
    const { frames, whole } = framesOf(turn)
    counts.lastSentAt = performance.timeOrigin + performance.now()
    response.writeHead(200, STREAM)
    if (script.delayMs === 0) return void response.end(whole)
    let next = 0
    timers.frames = setInterval(() => {
      const frame = frames[next++]
      if (next < frames.length) return void response.write(frame)
      clearInterval(timers.frames)
      response.end(frame)
    }, script.delayMs)
  }
  if (script.firstDelayMs === 0) send()
  else timers.pause = setTimeout(send, script.firstDelayMs)
}

/** Number of the tool turn to answer with, from 0; -1 for the final answer. */
function turnOf(body: Buffer): number {
  if (script.toolTurns === 0) return -1
  const { messages, tools = [] } = JSON.parse(body.toString('utf8')) as {
    readonly messages: readonly { readonly role: string }[]
    readonly tools?: readonly { readonly function: { readonly name: string } }[]
  }
  if (!tools.some(tool => tool.function.name === script.tool.name)) return -1
  const done = messages
    .slice(messages.findLastIndex(({ role }) => role === 'user'))
    .filter(({ role }) => role === 'tool')
  return done.length < script.toolTurns ? done.length : -1
}

function framesOf(turn: number) {
  const known = answers.get(turn)
  if (known) return known
  const usage = { prompt: 100, completion: 20 }
  const texts =
    turn < 0
      ? CHAT_WIRE.frames({ chunks: Array.from({ length: script.chunks }, () => 'token '), usage })
      : CHAT_WIRE.frames({ toolCalls: [toolCall(turn + 1)], usage })
  const frames = texts.map(text => Buffer.from(text))
  const made = { frames, whole: Buffer.concat(frames) }
  answers.set(turn, made)
  return made
}

const toolCall = (number: number) => ({
  id: `call_bench_${number}`,
  name: script.tool.name,
  arguments: script.tool.args.replaceAll('$I', String(number)),
})
