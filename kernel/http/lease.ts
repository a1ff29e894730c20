import type { ServerResponse } from 'node:http'

const lease = Symbol('runwright.lease')
const limit = Symbol('runwright.limit')

/** What ends with a reply hangs on the reply itself: one listener, and no closure or table per request. */
interface HeldResponse extends ServerResponse {
  [lease]?: (() => void) | undefined
  [limit]?: NodeJS.Timeout
}

/** Keeps the epoch that serves a reply alive until the reply closes. */
export function holdLease(response: ServerResponse, release: () => void): void {
  const held: HeldResponse = response
  held[lease] = release
  response.once('close', onClose)
}

/**
 * Returns the lease of a reply early: for a stream that from now on reads nothing but the kernel's own log. Doing it
 * twice, or on a reply without a lease, is harmless.
 */
export function releaseLease(response: ServerResponse): void {
  const held: HeldResponse = response
  const release = held[lease]
  held[lease] = undefined
  release?.()
}

/** Stops the timer when a reply that holds a lease closes. */
export function clearAtClose(response: ServerResponse, timer: NodeJS.Timeout): void {
  const held: HeldResponse = response
  held[limit] = timer
}

function onClose(this: HeldResponse) {
  clearTimeout(this[limit])
  releaseLease(this)
}
