import type { AddressInfo } from 'node:net'
import { createServer, type Socket, Socket as UnconnectedSocket } from 'node:net'
import { expect, test } from 'vitest'
import { Reachability } from './reach.js'

const signal = new AbortController().signal

test('a server that is there is asked for once in half a minute, one that is gone is named with its address', async () => {
  let connections = 0
  let at = 1_000_000
  const server = createServer(socket => {
    connections += 1
    socket.on('error', () => undefined).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const reach = new Reachability('ollama', `http://127.0.0.1:${port}/v1`, () => at)
  expect(await reach.check(signal)).toBeUndefined()
  at += 29_999
  expect(await reach.check(signal)).toBeUndefined()
  await new Promise(resolve => server.close(resolve))
  expect(connections).toBe(1)
  at += 1
  expect(await reach.check(signal)).toEqual({
    category: 'retryable',
    message: `ollama cannot be reached at http://127.0.0.1:${port}/v1: is the server running? (ECONNREFUSED)`,
  })
})

/** Never connects; its timeout is up when the test says so. */
function silentSocket() {
  let expire = (): void => undefined
  let waited: number | undefined
  const socket = Object.assign(new UnconnectedSocket(), {
    setTimeout(ms: number, onTimeout: () => void): Socket {
      waited = ms
      expire = onTimeout
      return socket
    },
  }) as Socket
  return { socket, expire: () => expire(), waited: () => waited }
}

test('a server that says nothing is given two seconds', async () => {
  const { socket, expire, waited } = silentSocket()
  const reach = new Reachability('lmstudio', 'https://[::1]/v1', Date.now, target => {
    expect(target).toEqual({ host: '::1', port: 443 })
    return socket
  })
  const checking = reach.check(signal)
  expire()
  expect(await checking).toMatchObject({ message: expect.stringMatching(/^lmstudio .*\(no answer within 2 s\)$/) })
  expect([waited(), socket.destroyed]).toEqual([2000, true])
})

test('cancelling ends the wait at once', async () => {
  const { socket } = silentSocket()
  const stop = new AbortController()
  const reach = new Reachability('ollama', 'http://localhost:1', Date.now, () => socket)
  const checking = reach.check(stop.signal)
  stop.abort()
  expect(await checking).toMatchObject({ category: 'cancelled' })
  expect(socket.destroyed).toBe(true)
  expect(await reach.check(stop.signal)).toMatchObject({ category: 'cancelled' })
})
