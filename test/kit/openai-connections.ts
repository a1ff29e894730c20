import type { WireOptions } from '#contracts/model/provider'
import { type ConnectionLimits, OpenAiConnection } from '../../plugins/openai-compatible/connection.js'
import { type Respond, startModelServer } from './model-server.js'

const LIMITS: ConnectionLimits = { idleMs: 5000, headersMs: 5000, connectMs: 5000 }

/** Opens connections and servers for a test file, and closes them all with `close`. */
export function connectionsForTest() {
  const undos: (() => Promise<void>)[] = []

  function open(options: Partial<WireOptions>, limits: Partial<ConnectionLimits> = {}): OpenAiConnection {
    const connection = new OpenAiConnection(
      {
        provider: 'openai',
        baseUrl: 'http://127.0.0.1:1',
        credential: () => ({ secret: 'sk-test' }),
        headers: {},
        modelPrefix: '',
        traits: () => ({ api: '', quirks: new Set() }),
        ...options,
      },
      { ...LIMITS, ...limits },
    )
    undos.push(() => connection.close())
    return connection
  }

  /** A connection to a server that answers like this. */
  async function before(respond: Respond, options: Partial<WireOptions> = {}, limits: Partial<ConnectionLimits> = {}) {
    const server = await startModelServer(respond)
    undos.push(() => server.close())
    return { server, connection: open({ baseUrl: server.origin, ...options }, limits) }
  }

  return {
    open,
    before,
    async close(): Promise<void> {
      for (const undo of undos.splice(0).reverse()) await undo()
    },
  }
}

/** Traits of a model of the Responses API. */
export const RESPONSES_TRAITS = () => ({ api: 'responses' as const, quirks: new Set<string>() })
