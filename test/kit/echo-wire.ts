import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Folder } from './reload-bench.js'

/** A wire of one request per turn, as a plugin: sends the key, answers with what the server says. */
export const ECHO_WIRE: Folder = {
  'index.js': `
    import { definePlugin } from '#contracts/plugin'
    import { MODEL_WIRES } from '#contracts/ports'
    import { Type } from '@sinclair/typebox'
    const open = ({ provider, baseUrl, credential }) => {
      const get = async (path, signal) => {
        const sent = await credential(signal)
        const headers = sent ? { authorization: 'Bearer ' + sent.secret, ...sent.headers } : {}
        return fetch(baseUrl + path, { signal, headers })
      }
      const failed = (category, message, status) => ({ kind: 'failed', failure: { category, message, status } })
      return {
        provider,
        async answer({ model }, sink, signal) {
          try {
            const reply = await get('/turn?model=' + encodeURIComponent(model), signal)
            const text = await reply.text()
            if (!reply.ok) return failed(reply.status === 401 ? 'auth' : 'retryable', text, reply.status)
            sink.part({ kind: 'text', text })
            return { kind: 'answered', text, toolCalls: [], finish: 'stop', usage: { prompt_tokens: 1000000, completion_tokens: 1, total_tokens: 1000001 } }
          } catch (error) { return failed('other', error.message) }
        },
        async fetchModels(signal) {
          const reply = await get('/models', signal)
          return reply.ok ? { kind: 'listed', body: await reply.json() } : failed('auth', 'refused', reply.status)
        },
        async close() {},
      }
    }
    export const plugin = definePlugin({
      name: 'echo-wire',
      config: Type.Object({}),
      contributes: [MODEL_WIRES],
      register: scope => scope.contribute(MODEL_WIRES, { protocols: ['echo'], open }),
    })`,
}

/** A server that the wire talks to. */
export interface Upstream {
  readonly url: string
  readonly heard: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  status: number
  /** What it lists. */
  models: readonly object[]
  readonly server: Server
}

/** Starts one on a free port of the loopback. Answers `from <name>`, or with `status`. */
export async function startUpstream(name: string): Promise<Upstream> {
  const heard: { path: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    heard.push({ path: request.url ?? '', headers: request.headers })
    response.statusCode = upstream.status
    if (request.url === '/models') response.end(JSON.stringify({ data: upstream.models }))
    else response.end(upstream.status === 200 ? `from ${name}` : `${name} says ${upstream.status}`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const upstream: Upstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    status: 200,
    models: [{ id: 'listed-1' }],
    server,
  }
  return upstream
}
