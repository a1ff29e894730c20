import { messageOf } from '#contracts/errors'
import type { ModelOutcome, ModelRequest } from '#contracts/model/client'
import type { FetchedModels, ModelWire, WireOptions } from '#contracts/model/provider'

export interface SmallWireOptions {
  /** Default: `small`. */
  readonly protocols?: readonly string[]
  /** Default: an answer that says who was asked for what. */
  readonly answer?: (request: ModelRequest, options: WireOptions) => Promise<ModelOutcome> | ModelOutcome
  /** Body of the model list; default: none can be had. */
  readonly models?: (options: WireOptions) => Promise<FetchedModels> | FetchedModels
}

/** One request as it would have been sent. */
export interface SmallCall {
  readonly provider: string
  readonly baseUrl: string
  readonly secret: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
}

/** A wire without a network. Notes what is opened, asked and closed. */
export interface SmallWire extends ModelWire {
  readonly opened: readonly WireOptions[]
  readonly calls: readonly SmallCall[]
  readonly closed: readonly string[]
}

const NO_LIST: FetchedModels = { kind: 'failed', failure: { category: 'other', message: 'no list', status: 404 } }

export function createSmallWire(given: SmallWireOptions = {}): SmallWire {
  const { protocols = ['small'], models = () => NO_LIST } = given
  const { answer = (request, { provider }) => said(`${provider}: ${request.model}`) } = given
  const opened: WireOptions[] = []
  const calls: SmallCall[] = []
  const closed: string[] = []
  return {
    protocols,
    opened,
    calls,
    closed,
    open(options) {
      opened.push(options)
      const { provider, baseUrl } = options
      const send = async (model: string, signal: AbortSignal): Promise<void> => {
        const credential = await options.credential(signal)
        const headers = { ...options.headers, ...credential?.headers }
        calls.push({ provider, baseUrl, secret: credential?.secret, headers, model: options.modelPrefix + model })
      }
      return {
        provider,
        async answer(request, sink, signal) {
          try {
            await send(request.model, signal)
          } catch (error) {
            return { kind: 'failed', failure: { category: 'auth', message: messageOf(error) } }
          }
          const outcome = await answer(request, options)
          if (outcome.kind === 'answered' && outcome.text !== '') sink.part({ kind: 'text', text: outcome.text })
          return outcome
        },
        async fetchModels(signal) {
          await send('', signal)
          return models(options)
        },
        close: async () => void closed.push(`${provider} ${baseUrl}`),
      }
    },
  }
}

/** An answer of these words. */
export const said = (text: string, more: Partial<Extract<ModelOutcome, { kind: 'answered' }>> = {}): ModelOutcome => ({
  kind: 'answered',
  text,
  toolCalls: [],
  finish: 'stop',
  ...more,
})
