import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '#config/index'
import type { EventEnvelope as Envelope } from '#contracts/event/envelope'
import { isTerminalEvent } from '#contracts/event/payloads'
import { type ConfiguredDaemon, createDaemon } from '#kernel/index'
import { answeredBy } from './answered-by.js'
import { memoryLog } from './memory-log.js'

/** An event as tests read it: any field of its payload. */
export interface EventEnvelope extends Omit<Envelope, 'payload'> {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads freely
  readonly payload?: Readonly<Record<string, any>>
}

/** A turn of the fake provider, as its file holds it. */
export type FakeTurn = Readonly<Record<string, unknown>>

export interface BootOptions {
  /** What the fake provider answers; default: one turn that says `done`. */
  readonly turns?: readonly FakeTurn[]
  /** Answer from a real server instead of the fake provider: its base URL. */
  readonly modelUrl?: string
  /** Keep runs and conversations in SQLite files. */
  readonly isDurable?: boolean
  readonly settings?: Partial<Settings>
  readonly environment?: Readonly<Record<string, string>>
  /** Default: auth switched off, since durable daemons have it on. */
  readonly hasAuth?: boolean
  /** Directories of bundled plugins in place of the package's own. */
  readonly bundled?: readonly string[]
  readonly configFile?: string
  readonly pluginLimitMs?: number
  /** Use this directory, which outlives the daemon, instead of a fresh one. */
  readonly dir?: string
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely
  readonly body: any
}

/** A daemon on a free port with a workspace of its own, and a client for it. */
export interface Booted {
  readonly daemon: ConfiguredDaemon
  readonly url: string
  readonly dir: string
  readonly workspace: string
  /** What was logged, as facts with their message. */
  readonly logged: readonly Readonly<Record<string, unknown>>[]
  request(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>
  /** Starts a run and returns its id; fails the test when it is not accepted. */
  start(request: string | Readonly<Record<string, unknown>>): Promise<string>
  /** All events up to the terminal one. */
  events(runId: string): Promise<readonly EventEnvelope[]>
  /** Starts a run, waits for its end, and returns its events. */
  run(request: string | Readonly<Record<string, unknown>>): Promise<readonly EventEnvelope[]>
  /** Resolves with the first event of the type. */
  until(runId: string, type: string): Promise<EventEnvelope>
  stop(): Promise<void>
}

/** Starts a daemon for a test. Call `stop`; a directory it made goes with it. */
export async function boot(options: BootOptions = {}): Promise<Booted> {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'runwright-')))
  const workspace = join(dir, 'workspace')
  await mkdir(workspace, { recursive: true })
  const turns = join(dir, 'turns.json')
  if (!options.modelUrl) await writeFile(turns, JSON.stringify(options.turns ?? [{ content: 'done' }]))
  const logged: Record<string, unknown>[] = []
  const daemon = await createDaemon({
    home: dir,
    cwd: workspace,
    log: memoryLog(logged),
    ...(options.bundled && { bundled: options.bundled }),
    ...(options.configFile && { configFile: options.configFile }),
    ...(options.pluginLimitMs && { pluginLimitMs: options.pluginLimitMs }),
    environment: {
      ...(options.modelUrl && answeredBy(options.modelUrl)),
      ...options.environment,
    },
    settings: {
      addr: '127.0.0.1:0',
      workspace,
      watch_enabled: false,
      auth_disabled: !options.hasAuth,
      ...(!options.modelUrl && { provider: 'fake', fake_turns: turns }),
      ...(options.isDurable && { run_db: join(dir, 'runs.db'), conversation_db: join(dir, 'conversations.db') }),
      ...options.settings,
    },
  })
  const client = createClient(daemon.url)
  return {
    daemon,
    url: daemon.url,
    dir,
    workspace,
    logged,
    ...client,
    async stop() {
      await daemon.stop()
      if (!options.dir) await rm(dir, { recursive: true, force: true })
    },
  }
}

/** A client of the run routes, for tests. */
export function createClient(url: string, token?: string) {
  const authorization: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {}
  const request = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> => {
    const response = await fetch(url + path, {
      method,
      headers: { ...authorization, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text }
  }
  const start = async (draft: string | Readonly<Record<string, unknown>>): Promise<string> => {
    const reply = await request('POST', '/v1/runs', typeof draft === 'string' ? { prompt: draft } : draft)
    if (reply.status !== 202) throw new Error(`not accepted: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body.run_id
  }
  async function* follow(runId: string, lastEventId?: string): AsyncGenerator<EventEnvelope> {
    const response = await fetch(`${url}/v1/runs/${runId}/events`, {
      headers: { ...authorization, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
    })
    if (response.status !== 200) throw new Error(`no stream: ${response.status} ${await response.text()}`)
    yield* parseFrames(response.body as AsyncIterable<Uint8Array>)
  }
  const events = async (runId: string): Promise<readonly EventEnvelope[]> => {
    const seen: EventEnvelope[] = []
    for await (const event of follow(runId)) seen.push(event)
    return seen
  }
  return {
    request,
    start,
    follow,
    events,
    run: async (draft: string | Readonly<Record<string, unknown>>) => events(await start(draft)),
    async until(runId: string, type: string): Promise<EventEnvelope> {
      for await (const event of follow(runId)) {
        if (event.type === type) return event
        if (isTerminalEvent(event.type)) break
      }
      throw new Error(`the run ended without ${type}`)
    },
  }
}

/** Reads the events out of a stream of frames. */
export async function* parseFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<EventEnvelope> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true })
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const data = rest
        .slice(0, end)
        .split('\n')
        .find(line => line.startsWith('data: '))
      rest = rest.slice(end + 2)
      if (data) yield JSON.parse(data.slice('data: '.length))
    }
  }
}
