import { isIPv4 } from 'node:net'
import type { WebRefusal } from '#contracts/web'
import { refuse } from './refusal.js'

const MAX_URL_CHARS = 8192
const CONTROL = /[\0-\x20\x7f]/

export interface Target {
  readonly url: URL
  /** Lower case, without brackets and final dot. */
  readonly host: string
  readonly port: number
}

/** What stands between the slashes and the path, where an address has that part. */
const AUTHORITY = /^(?:[a-z][a-z0-9+.-]*:)?[\\/]{2,}([^\\/?#]*)/i

/** Reads an address as far as that goes without looking at the network. `base` is what a redirect is relative to. */
export function parseTarget(text: string, base?: URL): Target | WebRefusal {
  const given = text.trim()
  if (given.length > MAX_URL_CHARS)
    return refuse('invalid_url', `The address is longer than ${MAX_URL_CHARS} characters.`)
  // The URL class drops tabs and line ends silently; whoever writes them means to hide something.
  if (CONTROL.test(given)) return refuse('invalid_url', 'The address holds a space or a control character.')
  const url = parse(given, base)
  if (!url) return refuse('invalid_url', 'This is not an address. Write it like https://example.com/page.')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return refuse('invalid_url', `Only http and https addresses are fetched, not ${url.protocol.slice(0, 20)}`)
  if (url.username !== '' || url.password !== '')
    return refuse('invalid_url', 'The address holds a user name or password; leave them out.')
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host === '') return refuse('invalid_url', 'The address has no host.')
  const [, written] = AUTHORITY.exec(given) ?? []
  // 0x7f.1 and 2130706433 are addresses too; whoever writes them so hopes that somebody does not know.
  if (isIPv4(host) && written !== undefined && written.replace(/:\d*$/, '') !== host)
    return refuse('invalid_url', `The address writes ${host} in another form. Write the four numbers plainly.`)
  return { url, host, port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80) }
}

function parse(text: string, base: URL | undefined): URL | undefined {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
