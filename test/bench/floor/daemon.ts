/**
 * `floor-daemon`: the least a daemon with the run protocol can do. Fastify, SQLite in WAL mode on the main thread with
 * every event inserted before it is shown, and the model loop on raw undici. No validation, auth, plugins, limits or
 * recovery. The goals were set against a floor that has the openai package loaded without using it, so this one has too;
 * a third argument `lean` leaves it out. `node floor/daemon.js <port> <database> <model base URL> [lean]`.
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { WriteBatch } from './batch.js'
import { createModelLoop, type FloorMessage } from './model-loop.js'

const [port, file = ':memory:', baseUrl = '', lean] = process.argv.slice(2)
const { default: openDatabase } = await import('better-sqlite3')
const { default: fastify } = await import('fastify')
if (lean !== 'lean') await import('openai')

const database = openDatabase(file)
database.pragma('journal_mode = WAL')
database.pragma('synchronous = NORMAL')
database.exec(`
  CREATE TABLE runs (id TEXT PRIMARY KEY, conversation TEXT, prompt TEXT, status TEXT, output TEXT);
  CREATE TABLE events (run TEXT, seq INTEGER, frame TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID;
  CREATE TABLE messages (conversation TEXT, seq INTEGER, body TEXT, PRIMARY KEY (conversation, seq)) WITHOUT ROWID;
`)
const insertRun = database.prepare('INSERT INTO runs VALUES (?, ?, ?, ?, NULL)')
const settleRun = database.prepare('UPDATE runs SET status = ?, output = ? WHERE id = ?')
const insertEvent = database.prepare('INSERT INTO events VALUES (?, ?, ?)')
const insertMessage = database.prepare('INSERT INTO messages VALUES (?, ?, ?)')
const readMessages = database.prepare('SELECT body FROM messages WHERE conversation = ? ORDER BY seq').pluck()

/** Runs stay readable this long after their end. */
const KEPT_MS = 5_000
const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

class FloorRun {
  readonly id = `run_${randomUUID()}`
  readonly #frames: string[] = []
  readonly #readers = new Map<ServerResponse, number>()
  #committed = 0
  isOver = false

  constructor(readonly conversation: string) {}

  emit(type: string, payload: Readonly<Record<string, unknown>>): void {
    const id = `${this.id}:${this.#frames.length}`
    const timestamp = new Date().toISOString()
    const full = { ...payload, schema_version: 1, conversation_id: this.conversation }
    const data = JSON.stringify({ id, run_id: this.id, type, timestamp, payload: full })
    const frame = `id: ${id}\nretry: 3000\nevent: ${type}\ndata: ${data}\n\n`
    batch.add(this, insertEvent, this.id, this.#frames.push(frame) - 1, frame)
  }

  attach(response: ServerResponse): void {
    this.#readers.set(response, 0)
    response.on('close', () => this.#readers.delete(response))
    this.#feed(response, 0)
  }

  showCommitted(): void {
    this.#committed = this.#frames.length
    for (const [response, at] of this.#readers) this.#feed(response, at)
  }

  #feed(response: ServerResponse, at: number): void {
    if (at < this.#committed) response.write(this.#frames.slice(at, this.#committed).join(''))
    this.#readers.set(response, this.#committed)
    if (!this.isOver || this.#committed < this.#frames.length) return
    this.#readers.delete(response)
    response.end()
  }
}

const runs = new Map<string, FloorRun>()
const batch = new WriteBatch<FloorRun>(database, run => run.showCommitted())
const converse = createModelLoop(baseUrl)

async function execute(run: FloorRun, prompt: string, isContinued: boolean): Promise<void> {
  run.emit('run.started', { prompt })
  const messages = isContinued
    ? readMessages.all(run.conversation).map(body => JSON.parse(body as string) as FloorMessage)
    : []
  const own = messages.length
  messages.push({ role: 'user', content: prompt })
  let status = 'completed'
  let output: string
  try {
    output = await converse(messages, (type, payload) => run.emit(type, payload))
    for (const [index, message] of messages.slice(own).entries())
      batch.add(run, insertMessage, run.conversation, own + index, JSON.stringify(message))
  } catch (error) {
    status = 'failed'
    output = String(error)
  }
  run.emit(`run.${status}`, { output })
  run.isOver = true
  batch.add(run, settleRun, status, output, run.id)
  setTimeout(() => runs.delete(run.id), KEPT_MS).unref()
}

const app = fastify({ logger: false })
app.get('/healthz', async () => ({ status: 'ok' }))
app.post('/v1/runs', async (request, reply) => {
  const { prompt, conversation_id } = request.body as { readonly prompt: string; readonly conversation_id?: string }
  const run = new FloorRun(conversation_id ?? randomUUID())
  runs.set(run.id, run)
  batch.add(run, insertRun, run.id, run.conversation, prompt, 'running')
  void execute(run, prompt, conversation_id !== undefined)
  return reply.code(202).send({ run_id: run.id, status: 'queued' })
})
app.get('/v1/runs/:id/events', (request, reply) => {
  const run = runs.get((request.params as { readonly id: string }).id)
  if (!run) return reply.code(404).send({ error: { code: 'not_found', message: 'no such run' } })
  reply.hijack()
  reply.raw.writeHead(200, STREAM)
  run.attach(reply.raw)
})
await app.listen({ port: Number(port), host: '127.0.0.1' })
process.once('SIGTERM', () => process.exit(0))
