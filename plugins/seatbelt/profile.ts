import type { SandboxPolicy } from '#contracts/sandbox'
import { type Place, type Reach, reachOf } from './reach.js'
import { type ProfileWish, packageProfile } from './wrapper.js'

/** A profile, or why the policy cannot be said in one. */
export type ProfileAnswer =
  | { readonly kind: 'profile'; readonly text: string }
  | { readonly kind: 'impossible'; readonly reason: string }

/** Where the daemon listens. `isLoopback`: on no other address. */
export interface Listener {
  readonly port: number
  readonly isLoopback: boolean
}

/** So many profiles are remembered; one is made anew where the policy or the places differ. */
const MAX_KNOWN = 64

/**
 * Makes the text `sandbox-exec -p` takes for a policy: the package's rules, and after them, because the last rule that
 * matches decides, those the package has no words for.
 */
export class Profiles {
  readonly #known = new Map<string, string>()

  /** `listener`: where the daemon listens; undefined when that is not known beforehand. */
  constructor(private readonly listener: Listener | undefined) {}

  async of(policy: SandboxPolicy, place: Place): Promise<ProfileAnswer> {
    const reach = reachOf(policy, place)
    const odd = Object.values(reach).flat().find(isUnspeakable)
    if (odd !== undefined) return impossible(`the path ${JSON.stringify(odd)} ${UNSPEAKABLE}`)
    const isNetworkDenied = policy.network === 'deny'
    if (!isNetworkDenied && this.listener === undefined) return impossible(PORT_UNKNOWN)
    const base = await this.#base({
      isNetworkDenied,
      readConfig: { denyOnly: [...reach.unreadable], allowWithinDeny: [...reach.readable] },
      writeConfig: { allowOnly: [...reach.writable], denyWithinAllow: [...reach.unwritable] },
    })
    const rules = [
      ...(isNetworkDenied || !this.listener ? [] : networkRules(this.listener, reach)),
      ...reach.shown.map(path => `(allow file-read* ${below(path)})`),
      ...reach.opened.map(path => `(allow file-read* file-write* ${below(path)})`),
    ]
    return { kind: 'profile', text: [base, '', '; runwright', ...rules, ''].join('\n') }
  }

  async #base(wish: ProfileWish): Promise<string> {
    const key = JSON.stringify(wish)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const made = await packageProfile(wish)
    const [oldest] = this.#known.keys()
    if (oldest !== undefined && this.#known.size >= MAX_KNOWN) this.#known.delete(oldest)
    this.#known.set(key, made)
    return made
  }
}

const impossible = (reason: string): ProfileAnswer => ({ kind: 'impossible', reason })

const UNSPEAKABLE = 'holds *, ?, [, ] or a control character, or is too long'
const PORT_UNKNOWN =
  'the port the daemon listens on is not known beforehand, so it cannot be kept from commands; set `addr` to a fixed one'

/**
 * An address filter knows `localhost` and `*`, nothing between. Sockets with a path are those of other programs: a
 * container engine, an agent with keys; only the resolver's stays, and what lies in the command's own places.
 */
function networkRules({ port, isLoopback }: Listener, { readable, writable, unreadable }: Reach): readonly string[] {
  const own = [...new Set([...readable, ...writable])].filter(path => path !== '/' && !path.startsWith('/dev/'))
  const hidden = unreadable.filter(path => own.some(dir => path.startsWith(`${dir}/`)))
  const socket = (path: string) => `network-outbound (remote unix-socket ${below(path)})`
  return [
    `(deny network-outbound (remote ip "localhost:${port}"))`,
    ...(isLoopback ? [] : [`(deny network-outbound (remote ip "*:${port}"))`]),
    '(deny network-outbound (remote unix-socket (path-regex #"^/")))',
    ...[RESOLVER, ...own].map(path => `(allow ${socket(path)})`),
    ...hidden.map(path => `(deny ${socket(path)})`),
  ]
}

const RESOLVER = '/private/var/run/mDNSResponder'

const below = (path: string): string => `(subpath ${JSON.stringify(path)})`

/** The package takes such a path for a pattern, `sandbox-exec` a text longer than this for an error. */
const isUnspeakable = (path: string): boolean =>
  /[*?[\]\u0000-\u001f\u007f]/.test(path) || Buffer.byteLength(JSON.stringify(path)) > 900

/** Reads `host:port`; undefined when the port is chosen at the start. */
export function parseListener(address: string): Listener | undefined {
  const colon = address.lastIndexOf(':')
  const [host, port] = [address.slice(0, colon), Number(address.slice(colon + 1))]
  if (!Number.isInteger(port) || port < 1 || port > 65535) return undefined
  return { port, isLoopback: /^(127\.[\d.]+|localhost|\[?::1\]?)$/i.test(host) }
}
