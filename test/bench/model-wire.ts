/**
 * CPU of one streamed turn in the provider layer, for chat completions, responses and messages: a raw undici loop, the vendor's package, the
 * package with our transport and reader behind it, and ours, in interleaved rounds against a server in another process;
 * then what the package costs to load. `node dist/test/bench/model-wire.js [rounds] [turns per round]`.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import { build } from 'esbuild'
import OpenAI from 'openai'
import { CHAT_WIRE } from '#test/kit/chat-wire'
import { MESSAGES_WIRE } from '#test/kit/messages-wire'
import { startModelServer } from '#test/kit/model-server'
import { RESPONSES_WIRE } from '#test/kit/responses-wire'
import { BodyWriter } from '../../plugins/openai-compatible/body-writer.js'
import { chatForm } from '../../plugins/openai-compatible/chat-body.js'
import {
  messagesBodies,
  messagesPackageSendsWeRead,
  ourMessages,
  rawMessages,
  wholeMessagesPackage,
} from './messages-subjects.js'
import type { ColdFigures } from './wire-cold.js'
import { ours, packageSendsWeRead, REQUEST, rawUndici, type Turn, wholePackage } from './wire-subjects.js'

const AT_ONCE = 16
const COLD_STARTS = 7
const WIRES = [CHAT_WIRE, RESPONSES_WIRE, MESSAGES_WIRE]

/** The model asked for names the number of chunks. */
async function serve(): Promise<void> {
  const answers = new Map<string, Buffer>()
  const server = await startModelServer((call, response) => {
    const wire = WIRES.find(({ path }) => call.path.endsWith(path)) ?? CHAT_WIRE
    const count = Number(call.body?.model) || 20
    const key = `${wire.path} ${count}`
    const chunks = () => Array.from({ length: count }, () => 'token ')
    const answer = answers.get(key) ?? Buffer.from(wire.frames({ chunks: chunks() }).join(''))
    answers.set(key, answer)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer)
  })
  process.send?.(server.origin)
}

async function cpuMsPerTurn(turn: Turn, turns: number, atOnce = AT_ONCE): Promise<number> {
  let left = turns
  const before = process.cpuUsage()
  const worker = async () => {
    while (left-- > 0) if ((await turn()) === 0) throw new Error('empty answer')
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / turns
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
const spread = (values: readonly number[], digits: number) => ({
  median: median(values).toFixed(digits),
  min: Math.min(...values).toFixed(digits),
  max: Math.max(...values).toFixed(digits),
})

async function measureTurns(origin: string, rounds: number, turns: number): Promise<void> {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'x', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: origin, apiKey: 'x', maxRetries: 0 })
  const subjects: Record<string, Turn> = {
    'chat: raw undici': rawUndici(origin, ''),
    'chat: the package': wholePackage(client, ''),
    'chat: the package sends, we read': packageSendsWeRead(OpenAI, origin),
    'chat: ours': ours(origin, ''),
    'responses: raw undici': rawUndici(origin, 'responses'),
    'responses: the package': wholePackage(client, 'responses'),
    'responses: ours': ours(origin, 'responses'),
    'messages: raw undici': rawMessages(origin),
    'messages: the package': wholeMessagesPackage(anthropic),
    'messages: the package sends, we read': messagesPackageSendsWeRead(Anthropic, origin),
    'messages: ours': ourMessages(origin),
  }
  const figures = new Map(Object.keys(subjects).map(name => [name, [] as number[]]))
  for (let round = -1; round < rounds; round++)
    for (const [name, turn] of Object.entries(subjects)) {
      const cpuMs = await cpuMsPerTurn(turn, turns)
      if (round >= 0) figures.get(name)?.push(cpuMs)
    }
  console.log('CPU ms per turn of 20 chunks')
  console.table([...figures].map(([name, values]) => ({ name, ...spread(values, 3) })))
}

async function measureChunks(origin: string): Promise<void> {
  const table: object[] = []
  const apis: Record<string, (model: string) => Turn> = {
    chat: model => ours(origin, '', model),
    responses: model => ours(origin, 'responses', model),
    messages: model => ourMessages(origin, model),
  }
  for (const [api, turnOf] of Object.entries(apis))
    for (const chunks of [1, 20, 1000, 100_000]) {
      const many = Math.max(3, Math.min(1000, 200_000 / chunks))
      await cpuMsPerTurn(turnOf(String(chunks)), Math.ceil(many / 4), 1)
      const cpuMs = await cpuMsPerTurn(turnOf(String(chunks)), many, 1)
      const perTurn = (cpuMs * 1000).toFixed(0)
      table.push({ api, chunks, 'µs a turn': perTurn, 'µs a chunk': ((cpuMs * 1000) / chunks).toFixed(2) })
    }
  console.table(table)
}

function measureBodies(): void {
  const table: object[] = []
  for (const count of [10, 100, 1000]) {
    const messages = Array.from({ length: count }, (_, index) => ({
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${index} ${'word '.repeat(60)}`,
    }))
    const chat = new BodyWriter(chatForm(false))
    const anthropic = messagesBodies(messages)
    table.push({
      'stored messages': count,
      'chat: ours': cpuMsOf(() => chat.write({ ...REQUEST, messages }, { model: REQUEST.model, isSerial: false })),
      'messages: ours': cpuMsOf(anthropic.ours),
      'messages: the package': cpuMsOf(anthropic.theirs),
    })
  }
  console.log('CPU ms per request body')
  console.table(table)
}

function cpuMsOf(once: () => unknown): string {
  for (let warm = 0; warm < 200; warm++) once()
  const before = process.cpuUsage()
  for (let turn = 0; turn < 200; turn++) once()
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 200_000).toFixed(3)
}

const PACKAGES = {
  chat: "export { OpenAI } from 'openai'",
  messages: "export { Anthropic } from '@anthropic-ai/sdk'",
}

/** Each package as published, and in one file as `dist/vendor` would hold it. */
async function measureLoading(origin: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'model-wire-'))
  try {
    for (const [wire, contents] of Object.entries(PACKAGES)) {
      const bundle = join(folder, `${wire}.mjs`)
      await build({
        stdin: { contents, resolveDir: process.cwd() },
        outfile: bundle,
        bundle: true,
        minifySyntax: true,
        minifyWhitespace: true,
        platform: 'node',
        format: 'esm',
        target: 'node20',
      })
      const figures = new Map(['ours', 'package', bundle].map(subject => [subject, [] as ColdFigures[]]))
      for (let start = 0; start < COLD_STARTS; start++)
        for (const [subject, values] of figures) values.push(await coldStart(wire, subject, origin))
      console.table(
        [...figures].map(([subject, values]) => ({
          name: `${wire}: ${{ ours: 'ours', package: 'the package sends, we read' }[subject] ?? 'the same, bundled'}`,
          'load ms': median(values.map(({ loadMs }) => loadMs)).toFixed(1),
          'load CPU ms': median(values.map(({ loadCpuMs }) => loadCpuMs)).toFixed(1),
          'RSS MB after a turn': median(values.map(({ rssMb }) => rssMb)).toFixed(1),
        })),
      )
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function coldStart(wire: string, subject: string, origin: string): Promise<ColdFigures> {
  const child = fork(join(import.meta.dirname, 'wire-cold.js'), [wire, subject, origin])
  const [figures] = (await once(child, 'message')) as [ColdFigures]
  return figures
}

async function measure(rounds: number, turns: number): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), ['--server'])
  const [origin] = (await once(server, 'message')) as [string]
  await measureTurns(origin, rounds, turns)
  await measureChunks(origin)
  measureBodies()
  await measureLoading(origin)
  server.kill()
  process.exit(0)
}

if (process.argv[2] === '--server') await serve()
else await measure(Number(process.argv[2] ?? 7), Number(process.argv[3] ?? 1000))
