import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Failure } from '#contracts/errors'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** What the operator opened besides the public internet. */
export interface AllowList {
  /** The name itself is opened, whatever it stands for. */
  hasHost(host: string, port: number): boolean
  hasAddress(address: string, port: number): boolean
}

export interface AddressRules {
  readonly allowed: AllowList
  readonly isPublic: (address: string) => boolean
}

export const createAddressRules = (entries: readonly string[]): AddressRules => ({
  allowed: parseAllowList(entries),
  isPublic,
})

/**
 * Reads entries such as `localhost`, `10.0.0.7`, `10.0.0.7:8080`, `[::1]:8080` and `10.0.0.0/8`. Fails on one that is
 * none of these, so that a slip is seen when the daemon starts and not as an odd refusal later.
 */
export function parseAllowList(entries: readonly string[]): AllowList {
  const rules = entries.map(parseEntry)
  return {
    hasHost: (host, port) => rules.some(rule => rule.host === host && mayUse(rule, port)),
    hasAddress(text, port) {
      const address = normal(text)
      if (!address) return false
      return rules.some(({ range, ...rule }) => range !== undefined && mayUse(rule, port) && isWithin(address, range))
    },
  }
}

/** True for an address of the public internet: not this machine, its networks, a cloud's own services, or unassigned. */
export function isPublic(text: string): boolean {
  const address = normal(text)
  if (!address) return false
  if (address.kind() === 'ipv4') return address.range() === 'unicast' && !CLOUD_SERVICES.has(address.toString())
  // What is not plain global unicast carries or stands for something else: mapped, translated, tunnelled, local.
  return address.range() === 'unicast' && isWithin(address, GLOBAL_UNICAST)
}

interface Rule {
  readonly host?: string
  readonly range?: readonly [Address, number]
  readonly port?: number
}

const mayUse = ({ port }: Rule, wanted: number): boolean => port === undefined || port === wanted

const isWithin = (address: Address, [network, bits]: readonly [Address, number]): boolean =>
  address.kind() === network.kind() &&
  (address as { match(other: Address, bits: number): boolean }).match(network, bits)

/** Platform services behind an address that looks public. */
const CLOUD_SERVICES: ReadonlySet<string> = new Set(['168.63.129.16'])
const GLOBAL_UNICAST: readonly [Address, number] = [ipaddr.parse('2000::'), 3]
const HOST = /^(?!-)[a-z0-9._-]{1,253}$/

function normal(text: string): Address | undefined {
  const bare = text.replace(/%.*$/s, '')
  if (isIP(bare) === 0) return undefined
  const address = ipaddr.parse(bare)
  // `::ffff:127.0.0.1` connects to 127.0.0.1.
  return address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress()
    ? (address as ipaddr.IPv6).toIPv4Address()
    : address
}

function parseEntry(entry: string): Rule {
  const text = entry.trim().toLowerCase()
  if (text.includes('/')) {
    const [, base = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
    const address = normal(base)
    const length = Number(bits)
    if (!address || bits === '' || length > (address.kind() === 'ipv4' ? 32 : 128)) throw unreadable(entry)
    return { range: [address, length] }
  }
  const whole = normal(text)
  if (whole) return { range: [whole, whole.kind() === 'ipv4' ? 32 : 128] }
  const [, bracketed, plain = '', digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const port = digits === undefined ? {} : { port: Number(digits) }
  if (port.port !== undefined && (port.port === 0 || port.port > 65_535)) throw unreadable(entry)
  const address = normal(bracketed ?? plain)
  if (address) return { range: [address, address.kind() === 'ipv4' ? 32 : 128], ...port }
  if (bracketed !== undefined || !HOST.test(plain)) throw unreadable(entry)
  return { host: plain.replace(/\.$/, ''), ...port }
}

const unreadable = (entry: string): Failure =>
  new Failure(
    'invalid_request',
    `tools.network_allowlist: "${entry}" is neither a host, an address nor a CIDR range; write localhost, 10.0.0.7:8080 or 10.0.0.0/8`,
  )
