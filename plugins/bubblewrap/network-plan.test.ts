import type { NetworkInterfaceInfo } from 'node:os'
import { expect, test } from 'vitest'
import { planNetwork } from './network-plan.js'

const address = (cidr: string): NetworkInterfaceInfo[] => [
  { address: cidr.split('/')[0] ?? '', cidr, netmask: '', family: 'IPv4', mac: '', internal: cidr.startsWith('127.') },
]
const IPV6: NetworkInterfaceInfo[] = [
  { address: 'fd00::2', cidr: 'fd00::2/64', netmask: '', family: 'IPv6', mac: '', internal: false, scopeid: 0 },
]
const facts = {
  interfaces: { lo: address('127.0.0.1/8'), eth0: [...address('192.0.2.2/24'), ...IPV6] },
  resolver: '',
  hostServices: [],
}

test('the name server is reached at its port; the machine, its loopback and link-local addresses are not', () => {
  expect(planNetwork(facts).rules.trim().split('\n')).toEqual([
    'rule add pref 1 to 10.0.2.3 ipproto udp dport 53 lookup main',
    'rule add pref 1 to 10.0.2.3 ipproto tcp dport 53 lookup main',
    'rule add pref 2 to 10.0.2.0/24 prohibit',
    'rule add pref 2 to 0.0.0.0/8 prohibit',
    'rule add pref 2 to 127.0.0.0/8 prohibit',
    'rule add pref 2 to 169.254.0.0/16 prohibit',
    'rule add pref 2 to 192.0.2.2 prohibit',
  ])
})

test('services of the host that the operator names come first', () => {
  const { rules } = planNetwork({ ...facts, hostServices: ['192.0.2.2:5432'] })
  expect(rules).toContain('rule add pref 1 to 192.0.2.2 ipproto tcp dport 5432 lookup main\n')
})

test.each([
  ['192.0.2.2/24', '10.0.2.0/24'],
  ['10.0.2.15/24', '10.197.53.0/24'],
  ['10.4.5.6/8', '172.29.83.0/24'],
])('on a machine in %s the network is %s', (cidr, expected) => {
  const plan = planNetwork({ ...facts, interfaces: { eth0: address(cidr) } })
  const prefix = expected.slice(0, -'.0/24'.length)
  expect([plan.cidr, plan.resolver]).toEqual([expected, `nameserver ${prefix}.3\n`])
  expect(plan.rules).toContain(`to ${prefix}.3 ipproto udp`)
})

test('search domains and options of the host stay, its name servers do not', () => {
  const resolver = '# by hand\nnameserver 127.0.0.53\nsearch corp.example\noptions edns0 trust-ad\n'
  expect(planNetwork({ ...facts, resolver }).resolver).toBe(
    'nameserver 10.0.2.3\nsearch corp.example\noptions edns0 trust-ad\n',
  )
})
