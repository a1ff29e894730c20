import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type ModelCounts, type ModelOrder, type ModelReply, type ModelScript, PLAIN_SCRIPT } from './model-script.js'

/** The model server, seen from the bench. One order at a time. */
export interface BenchModel {
  /** Base URL for a provider: ends with `/v1`. */
  readonly baseUrl: string
  /** Sets the script and starts the counts anew. */
  script(change: Partial<ModelScript>): Promise<void>
  counts(): Promise<ModelCounts>
  /** CPU time it has used so far. */
  cpuMs(): Promise<number>
  stop(): void
}

/** Starts it in a process of its own, on a free port. */
export async function startModel(): Promise<BenchModel> {
  const child = fork(join(import.meta.dirname, 'model-process.js'), [])
  const answer = async (): Promise<ModelReply> => {
    const [reply] = (await once(child, 'message', { signal: AbortSignal.timeout(20_000) })) as [ModelReply]
    return reply
  }
  const ask = (order: ModelOrder): Promise<ModelReply> => {
    const answered = answer()
    child.send(order)
    return answered
  }
  const count = async () => {
    const reply = await ask({ count: true })
    if ('counts' in reply) return reply
    throw new Error('the model server gave no counts')
  }
  const started = await answer()
  if (!('origin' in started)) throw new Error('the model server did not start')
  return {
    baseUrl: `${started.origin}/v1`,
    script: async change => void (await ask({ script: { ...PLAIN_SCRIPT, ...change } })),
    counts: async () => (await count()).counts,
    cpuMs: async () => (await count()).cpuMs,
    stop: () => void child.kill(),
  }
}
