import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

/** An IPv4 address of this machine that is not its loopback: where a service of the host is when commands may reach it. */
export function outsideAddress(): string {
  const found = addresses().find(({ family, internal }) => family === 'IPv4' && !internal)
  if (!found)
    throw new Error('this machine has no network: tests of allowed networks need an address besides 127.0.0.1')
  return found.address
}

/** The same in IPv6, where there is one that needs no device to go with it. */
export const outsideIpv6Address = (): string | undefined =>
  addresses().find(({ family, internal, scopeid }) => family === 'IPv6' && !internal && scopeid === 0)?.address

const addresses = (): readonly NetworkInterfaceInfo[] => Object.values(networkInterfaces()).flatMap(list => list ?? [])
