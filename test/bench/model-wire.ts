/**
 * CPU of one streamed turn in the provider layer: a raw undici loop, the `openai` package's own stream, and ours, in
 * interleaved rounds against a server in another process. `node dist/test/bench/model-wire.js [rounds] [turns per round]`.
 */
import { fork } from 'node:child_process'
import { once, setMaxListeners } from 'node:events'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { Agent, request } from 'undici'
import { CHAT_WIRE } from '#test/kit/chat-wire'
import { startModelServer } from '#test/kit/model-server'
import { modelRequest } from '#test/kit/model-turn'
import { ChatCompletionsClient } from '../../plugins/openai-compatible/chat-client.js'
import { parseEndpoint } from '../../plugins/openai-compatible/endpoint.js'
import { RequestBodyWriter } from '../../plugins/openai-compatible/request-body.js'

const AT_ONCE = 16
const TOOLS = ['echo', 'bash'].map(name => ({
  name,
  description: name,
  parameters: { type: 'object', properties: {} },
}))
const REQUEST = modelRequest({ tools: TOOLS })
const SINK = { part() {}, drained: () => undefined }
const NEVER = new AbortController().signal

setMaxListeners(0, NEVER)

/** The model asked for names the number of chunks. */
async function serve(): Promise<void> {
  const answers = new Map<number, Buffer>()
  const server = await startModelServer((call, response) => {
    const chunks = Number(call.body?.model) || 20
    const answer =
      answers.get(chunks) ??
      Buffer.from(CHAT_WIRE.frames({ chunks: Array.from({ length: chunks }, () => 'token ') }).join(''))
    answers.set(chunks, answer)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer)
  })
  process.send?.(server.origin)
}

/** What `floors/agent.mjs` does: no bounds, no errors, no abort. */
function rawUndici(origin: string): () => Promise<number> {
  const dispatcher = new Agent({ pipelining: 1 })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer x' }
  const body = () => new RequestBodyWriter().write(REQUEST)
  return async () => {
    const response = await request(`${origin}/v1/chat/completions`, {
      method: 'POST',
      dispatcher,
      headers,
      body: body(),
    })
    response.body.setEncoding('utf8')
    let text = ''
    let tail = ''
    for await (const piece of response.body) {
      const events = (tail + piece).split('\n\n')
      tail = events.pop() ?? ''
      for (const event of events)
        if (event !== 'data: [DONE]') text += JSON.parse(event.slice(6)).choices[0]?.delta.content ?? ''
    }
    return text.length
  }
}

function openAiPackage(origin: string): () => Promise<number> {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'x', maxRetries: 0 })
  const tools = TOOLS.map(tool => ({ type: 'function' as const, function: tool }))
  return async () => {
    let text = ''
    const stream = await client.chat.completions.create({
      model: 'scripted',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hello' },
      ],
      tools,
    })
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    return text.length
  }
}

function ours(origin: string, model = 'scripted'): () => Promise<number> {
  const settings = { apiKey: 'x', idleMs: 120_000, headersMs: 600_000, connectMs: 30_000 }
  const client = new ChatCompletionsClient('openai', { endpoint: parseEndpoint(origin), ...settings })
  return async () => {
    const outcome = await client.answer({ ...REQUEST, model }, SINK, NEVER)
    if (outcome.kind === 'failed') throw new Error(outcome.failure.message)
    return outcome.text.length
  }
}

async function cpuMsPerTurn(turn: () => Promise<number>, turns: number, atOnce = AT_ONCE): Promise<number> {
  let left = turns
  const before = process.cpuUsage()
  const worker = async () => {
    while (left-- > 0) if ((await turn()) === 0) throw new Error('empty answer')
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / turns
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

function bodyCpuMs(messageCount: number): number {
  const writer = new RequestBodyWriter()
  const messages = Array.from({ length: messageCount }, (_, index) => ({
    role: 'user' as const,
    content: `${index} ${'word '.repeat(60)}`,
  }))
  const stored = { ...REQUEST, messages }
  const once = () => writer.write(stored)
  for (let warm = 0; warm < 200; warm++) once()
  const before = process.cpuUsage()
  for (let turn = 0; turn < 200; turn++) once()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 200_000
}

async function measure(rounds: number, turns: number): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), ['--server'])
  const [origin] = (await once(server, 'message')) as [string]
  const subjects = { 'raw undici': rawUndici(origin), 'openai package': openAiPackage(origin), ours: ours(origin) }
  const figures = new Map(Object.keys(subjects).map(name => [name, [] as number[]]))
  for (let round = -1; round < rounds; round++)
    for (const [name, turn] of Object.entries(subjects)) {
      const cpuMs = await cpuMsPerTurn(turn, turns)
      if (round >= 0) figures.get(name)?.push(cpuMs)
    }
  const table = [...figures].map(([name, values]) => ({
    name,
    'CPU ms per 20-chunk turn': median(values).toFixed(3),
    min: Math.min(...values).toFixed(3),
    max: Math.max(...values).toFixed(3),
  }))
  console.table(table)
  for (const chunks of [1, 20, 1000, 100_000]) {
    const many = Math.max(3, Math.min(1000, 200_000 / chunks))
    await cpuMsPerTurn(ours(origin, String(chunks)), Math.ceil(many / 4), 1)
    const cpuMs = await cpuMsPerTurn(ours(origin, String(chunks)), many, 1)
    console.log(
      `${chunks} chunks: ${(cpuMs * 1000).toFixed(0)} µs CPU a turn, ${((cpuMs * 1000) / chunks).toFixed(2)} µs a chunk`,
    )
  }
  for (const count of [10, 100, 1000])
    console.log(`request body over ${count} stored messages: ${bodyCpuMs(count).toFixed(3)} ms CPU`)
  server.kill()
  process.exit(0)
}

if (process.argv[2] === '--server') await serve()
else await measure(Number(process.argv[2] ?? 7), Number(process.argv[3] ?? 1000))
