import { BlockList } from 'node:net'
import type { NetworkInterfaceInfo } from 'node:os'

/** How a network of its own is laid out: what `ip -batch` and `slirp4netns` are told, and the commands' `resolv.conf`. */
export interface NetworkPlan {
  readonly rules: string
  /** The network between the commands and the program that carries their connections out. */
  readonly cidr: string
  readonly resolver: string
}

export interface NetworkFacts {
  readonly interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>
  /** Text of the host's own `resolv.conf`. */
  readonly resolver: string
  /** `address:port` of this machine that may be reached nevertheless. */
  readonly hostServices: readonly string[]
}

/** The first that no network of the machine overlaps with is taken; VirtualBox, for one, uses the first itself. */
const PREFIXES = ['10.0.2', '10.197.53', '172.29.83', '192.168.213']

/**
 * The rules are asked for every connection, before the routes. They stay where `--disable-host-loopback` has gaps: a
 * packet for 127.0.0.1 that is sent out by a socket bound to the outer device, and a name server on the host's loopback.
 * A machine's own addresses lead to what listens on all its interfaces, link-local ones to a cloud's keys.
 */
export function planNetwork({ interfaces, resolver, hostServices }: NetworkFacts): NetworkPlan {
  const addresses = Object.values(interfaces)
    .flatMap(list => list ?? [])
    .filter(({ family }) => family === 'IPv4')
  const prefix = freePrefix(addresses)
  const nameServer = `${prefix}.3`
  const open = ['udp', 'tcp']
    .map(protocol => `to ${nameServer} ipproto ${protocol} dport 53`)
    .concat(
      hostServices.map(service => {
        const [address, port] = service.split(':')
        return `to ${address} ipproto tcp dport ${port}`
      }),
    )
  const own = addresses.map(({ address }) => address).filter(address => !address.startsWith('127.'))
  const shut = [`${prefix}.0/24`, '0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', ...new Set(own)]
  return {
    cidr: `${prefix}.0/24`,
    rules: [
      ...open.map(match => `rule add pref 1 ${match} lookup main`),
      ...shut.map(range => `rule add pref 2 to ${range} prohibit`),
      '',
    ].join('\n'),
    resolver: `${[`nameserver ${nameServer}`, ...resolver.split('\n').filter(line => KEPT.test(line))].join('\n')}\n`,
  }
}

const KEPT = /^\s*(search|domain|options)\s/

function freePrefix(addresses: readonly NetworkInterfaceInfo[]): string {
  const taken = new BlockList()
  for (const { address, cidr } of addresses) taken.addSubnet(address, Number(cidr?.split('/')[1] ?? 32))
  return PREFIXES.find(prefix => !taken.check(`${prefix}.2`)) ?? PREFIXES[0] ?? ''
}
