import { setTimeout as delay } from 'node:timers/promises'
import type { FetchedModels, ModelConnection, ModelOutcome, ModelRequest, ModelSink } from 'runwright/contracts'

/** Says the last user message back, a word at a time. A real client would read them from a socket. */
export class ParrotClient implements ModelConnection {
  constructor(
    readonly provider: string,
    readonly wordDelayMs: number,
  ) {}

  async answer(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelOutcome> {
    const heard = request.messages.findLast(message => message.role === 'user')?.content ?? ''
    const words = heard.match(/\s*\S+/g) ?? []
    for (const text of words) {
      if (this.wordDelayMs > 0) await delay(this.wordDelayMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return { kind: 'failed', failure: { category: 'cancelled', message: 'cancelled' } }
      sink.part({ kind: 'text', text })
      await sink.drained()
    }
    return {
      kind: 'answered',
      text: words.join(''),
      toolCalls: [],
      usage: { prompt_tokens: words.length, completion_tokens: words.length, total_tokens: words.length * 2 },
      finish: 'stop',
    }
  }

  /** What `runwright providers --check` asks. A real one sends `GET <base URL>/models`. */
  async fetchModels(): Promise<FetchedModels> {
    return { kind: 'listed', body: { data: [{ id: 'parrot-1' }] } }
  }

  /** It holds no sockets. */
  async close(): Promise<void> {}
}
