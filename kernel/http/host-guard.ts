import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { Failure } from '#contracts/errors'
import type { DaemonSettings } from '#contracts/settings'
import { isRepeated } from './raw-headers.js'

/** Where the server really listens. */
export interface BoundAddress {
  readonly address: string
  readonly port: number
  readonly isLoopback: boolean
}

export interface HostGuard {
  /** Undefined when Host, Origin and fetch site of the request are ours. */
  refuse(request: IncomingMessage): Failure | undefined
  /** True for an origin the operator listed; the only ones that get CORS headers. */
  isAllowedOrigin(origin: string): boolean
}

/**
 * Keeps web pages and rebound names out, also with auth off. Names are compared exactly and with their port; on a public
 * bind any IP literal is a fine Host too, since a rebinding page always comes with a name.
 */
export function createHostGuard(bound: BoundAddress, settings: () => DaemonSettings): HostGuard {
  const own = ownHosts(bound)
  let seenHosts: readonly string[] | undefined
  let hosts = own
  let seenOrigins: readonly string[] | undefined
  let origins = new Set<string>()

  const isOurHost = (host: string): boolean => {
    const { allowedHosts } = settings()
    if (allowedHosts !== seenHosts) {
      seenHosts = allowedHosts
      hosts = new Set([...own, ...allowedHosts.map(name => name.toLowerCase())])
    }
    return hosts.has(host) || hosts.has(host.toLowerCase()) || (!bound.isLoopback && isAddressLiteral(host))
  }
  const isAllowedOrigin = (origin: string): boolean => {
    const { allowedOrigins } = settings()
    if (allowedOrigins !== seenOrigins) {
      seenOrigins = allowedOrigins
      origins = new Set(allowedOrigins.filter(name => name !== '*' && name !== 'null').map(name => name.toLowerCase()))
    }
    return origins.has(origin)
  }

  return {
    isAllowedOrigin,
    refuse(request) {
      const { host, origin } = request.headers
      if (host === undefined || !isOurHost(host) || isRepeated(request.rawHeaders, 'host'))
        return new Failure(
          'forbidden',
          `the Host header must be, once, one of ${[...hosts].join(', ')}; further names go into the setting allowed_hosts`,
        )
      if (origin === undefined) return refuseForeignFetch(request.headers['sec-fetch-site'])
      // Of repeated Origins node makes one text with commas, which is neither.
      if (isSameOrigin(origin, host) || isAllowedOrigin(origin)) return undefined
      return new Failure(
        'forbidden',
        'requests from this Origin are not accepted; trusted origins go into the setting allowed_origins',
      )
    },
  }
}

function ownHosts({ address, port, isLoopback }: BoundAddress): ReadonlySet<string> {
  const names = ['localhost', '127.0.0.1', '[::1]', address.includes(':') ? `[${address}]` : address]
  if (!isLoopback) names.push(hostname().toLowerCase())
  return new Set(names.flatMap(name => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])))
}

function isAddressLiteral(host: string): boolean {
  const [, v6, v4] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::\d{1,5})?$/i.exec(host) ?? []
  return isIP(v6 ?? v4 ?? '') !== 0
}

/** A browser leaves port 80 out of both; whoever terminates TLS before us lists the https origin. */
const isSameOrigin = (origin: string, host: string): boolean =>
  origin === `http://${host.toLowerCase()}` || (host.endsWith(':80') && origin === `http://${host.slice(0, -3)}`)

/** Browsers send no Origin with plain GETs of other sites; they do say where the request came from. */
const refuseForeignFetch = (site: string | string[] | undefined): Failure | undefined =>
  site === undefined || site === 'same-origin' || site === 'none'
    ? undefined
    : new Failure('forbidden', 'requests that another site makes in a browser are not accepted')
