/** A base URL that can be asked. */
export interface Address {
  /** Without slashes at the end; equal for equal places. */
  readonly url: string
  readonly host: string
  /** Never leaves this machine. */
  readonly isLoopback: boolean
}

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Reads a base URL; undefined for anything but absolute http(s) without user name and password. */
export function parseAddress(text: string): Address | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  if (url.username !== '' || url.password !== '') return undefined
  const path = url.pathname.replace(/\/+$/, '')
  return { url: `${url.origin}${path}${url.search}`, host: url.hostname, isLoopback: LOOPBACK.test(url.hostname) }
}

/** An address as lists show it: what follows a `?` may be a secret. */
export const shownUrl = (url: string): string => url.split('?')[0] as string
