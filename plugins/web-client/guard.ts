import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { AddressRules } from './address-rules.js'
import { OPEN_HINT, Refused, refuse } from './refusal.js'

/** Every address a name stands for. */
export type Resolve = (host: string) => Promise<readonly string[]>

export const resolveBySystem: Resolve = async host =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address)

/** Decides which addresses may be connected to. */
export class Guard {
  constructor(
    /** Loaded with the first request: what reads addresses is not needed for a start. */
    private readonly rules: () => Promise<AddressRules>,
    private readonly resolve: Resolve,
  ) {}

  /**
   * The checked addresses of a host. Throws `Refused` when there is none, or when only one of them is forbidden: a name
   * that stands for a public and a private address is not an honest mistake.
   */
  async addressesOf(host: string, port: number): Promise<readonly string[]> {
    const addresses = isIP(host) === 0 ? await this.#resolved(host) : [host]
    const { allowed, isPublic } = await this.rules()
    if (allowed.hasHost(host, port)) return addresses
    const own = ownAddresses()
    const isFine = (address: string) => allowed.hasAddress(address, port) || (isPublic(address) && !own.has(address))
    if (addresses.every(isFine)) return addresses
    throw new Refused(
      refuse('forbidden_address', `${host} is not on the public internet, so it is not connected to. ${OPEN_HINT}`),
    )
  }

  async #resolved(host: string): Promise<readonly string[]> {
    let addresses: readonly string[] = []
    try {
      addresses = await this.resolve(host)
    } catch {
      // Told below; the resolver's own words would describe our network.
    }
    if (addresses.length === 0) throw new Refused(refuse('unreachable', `There is no host ${host}. Check its name.`))
    return addresses
  }
}

/** A public address of this machine leads to what listens on all its interfaces. */
const ownAddresses = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address)))
