import { afterEach, beforeEach } from 'vitest'
import { type Booted, type BootOptions, boot, type EventEnvelope } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'

interface Said {
  readonly role: string
  readonly content: string
}

export const PLAN = 'First this, then that.'

export const resultsOf = (messages: readonly Said[]): readonly string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content)

/** Plan mode over HTTP, with a real sandbox and a scripted model. */
export class PlanBench {
  live: Booted | undefined
  #model: ChatServer | undefined
  /** What the model answers, by the messages it was sent. */
  respond: (messages: readonly Said[]) => ChatTurn = () => ({ text: 'done' })

  get modelUrl(): string {
    return this.#model?.baseUrl ?? ''
  }

  async open(): Promise<void> {
    this.#model = await startChatServer({ respond: ({ body }) => this.respond(body?.messages as readonly Said[]) })
  }

  async close(): Promise<void> {
    await this.live?.stop()
    this.live = undefined
    await this.#model?.close()
  }

  async start(options: BootOptions = {}): Promise<Booted> {
    this.live = await boot({ modelUrl: this.modelUrl, ...options })
    return this.live
  }

  /** Makes these calls, one a turn, then answers. */
  calling(calls: readonly (readonly [string, object])[], text = PLAN): void {
    this.respond = messages => {
      const done = resultsOf(messages).length
      const next = calls[done]
      return next ? { toolCalls: [{ id: `call_${done}`, name: next[0], arguments: next[1] }] } : { text }
    }
  }

  /** Starts a planning run and waits until it shows its plan. */
  async planUntilExit(draft: object = {}): Promise<{ readonly id: string; readonly required: EventEnvelope }> {
    if (!this.live) throw new Error('start a daemon first')
    const id = await this.live.start({ prompt: 'plan it', plan_mode: true, ...draft })
    return { id, required: await this.live.until(id, 'tool.approval_required') }
  }

  async cancel(id: string): Promise<void> {
    await this.live?.request('POST', `/v1/runs/${id}/cancel`)
    await this.live?.events(id)
  }
}

/** A bench of its own for each test of the file. */
export function benchForEach(): PlanBench {
  const bench = new PlanBench()
  beforeEach(() => bench.open())
  afterEach(() => bench.close())
  return bench
}
