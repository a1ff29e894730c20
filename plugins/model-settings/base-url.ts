import { lookup } from 'node:dns/promises'
import { BlockList, isIP, isIPv4 } from 'node:net'
import { Failure } from '#contracts/errors'

/** Every address a name stands for. */
export type Resolve = (host: string) => Promise<readonly string[]>

export const resolveBySystem: Resolve = async host => (await lookup(host, { all: true })).map(({ address }) => address)

const MAX_CHARS = 2048
const MAX_RESOLVE_MS = 3_000
const ODD = /[\0-\x20\x7f\\]/
/** What stands between the slashes and the path. */
const AUTHORITY = /^https?:\/\/([^/]*)/i

/**
 * Checks an address for a provider and returns it in the one form it is kept in. Servers of this machine and of private
 * networks are fine: whoever may set this runs the daemon. What hands out the machine's own credentials is not.
 */
export async function checkBaseUrl(text: string, resolve: Resolve): Promise<string> {
  const given = text.trim()
  if (given.length > MAX_CHARS) throw refused(`is longer than ${MAX_CHARS} characters`)
  const url = URL.canParse(given) && !ODD.test(given) ? new URL(given) : undefined
  const [, authority = ''] = AUTHORITY.exec(given) ?? []
  if (url === undefined || authority === '')
    throw refused('must be an absolute http or https address such as https://models.example/v1')
  if (url.username !== '' || url.password !== '' || authority.includes('@'))
    throw refused('must not hold a user name or password; send the key as api_key or key_ref')
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(given)) throw refused('must not hold a query or fragment')
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (host === '') throw refused('has no host')
  if (isIPv4(host) && authority.replace(/:\d*$/, '') !== host)
    throw refused(`writes the address ${host} in another form; write the four numbers plainly`)
  await refuseForbidden(host, resolve)
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** Two texts of one place; undefined and unreadable ones are no place. */
export const isSamePlace = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && b !== undefined && placeOf(a) !== undefined && placeOf(a) === placeOf(b)

export const originOf = (text: string): string | undefined => (URL.canParse(text) ? new URL(text).origin : undefined)

const placeOf = (text: string): string | undefined => {
  if (!URL.canParse(text.trim())) return undefined
  const url = new URL(text.trim())
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}${url.search}`
}

/**
 * Addresses that answer with credentials of the machine itself, or that no server has. A name is looked up, as a platform's
 * own name for it is no secret; one that stands for nothing yet may be that of a server still to come.
 */
async function refuseForbidden(host: string, resolve: Resolve): Promise<void> {
  const isForbidden = (address: string) => FORBIDDEN.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  const addresses = isIP(host) === 0 ? await resolved(host, resolve) : [host]
  if (FORBIDDEN_NAMES.has(host.toLowerCase()) || addresses.some(isForbidden))
    throw refused('is an address of the machine’s own platform, which no provider has')
}

async function resolved(host: string, resolve: Resolve): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly string[]>(done => {
    timer = setTimeout(done, MAX_RESOLVE_MS, [])
  })
  try {
    return await Promise.race([resolve(host).catch(() => []), late])
  } finally {
    clearTimeout(timer)
  }
}

const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['metadata.google.internal', 'metadata.goog'])
const FORBIDDEN = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
  ['224.0.0.0', 3],
] as const)
  FORBIDDEN.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of [
  ['::', 128],
  ['fe80::', 10],
  ['fd00:ec2::', 32],
  ['fd20:ce::', 64],
  ['ff00::', 8],
  ['64:ff9b::a9fe:0', 112],
] as const)
  FORBIDDEN.addSubnet(network, bits, 'ipv6')

const refused = (why: string): Failure => new Failure('invalid_request', `base_url: ${why}`)
