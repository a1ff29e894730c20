import { afterEach } from 'vitest'
import { openProtocolServer, type ProtocolServerOptions } from './protocol-server.js'

const servers: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

/** A protocol server whose run is completed, unless the options say otherwise. It closes with the test. */
export async function serverWith(options: Partial<ProtocolServerOptions>) {
  const server = await openProtocolServer({ events: [{ type: 'run.completed' }], ...options })
  servers.push(server)
  return server
}
