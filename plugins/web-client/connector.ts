import { isIP } from 'node:net'
import type { buildConnector } from 'undici'
import { messageOf } from '#contracts/errors'
import type { Guard } from './guard.js'

const CONNECT_TIMEOUT_MS = 10_000
/** Of a name with many addresses, so many are tried. */
const MAX_TRIES = 3

/**
 * A connector for undici that resolves, checks, and connects to a checked address: nothing is resolved a second time, so
 * an answer that changes in between changes nothing. TLS still proves the name.
 */
export function guardedConnector(guard: Guard, build: typeof buildConnector): buildConnector.connector {
  const connect = build({ timeout: CONNECT_TIMEOUT_MS })
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80)
    const attempt = (addresses: readonly string[]): void => {
      const [hostname = '', ...rest] = addresses
      const servername = isIP(host) === 0 ? host : undefined
      connect({ ...options, hostname, ...(servername && { servername }) }, (...result) => {
        const [error] = result
        if (error && rest.length > 0) attempt(rest)
        else callback(...result)
      })
    }
    guard.addressesOf(host, port).then(
      addresses => attempt(addresses.slice(0, MAX_TRIES)),
      (error: unknown) => callback(error instanceof Error ? error : new Error(messageOf(error)), null),
    )
  }
}
