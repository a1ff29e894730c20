import { connect, type Socket } from 'node:net'
import type { ModelFailure } from '#contracts/model/client'

const PATIENCE_MS = 2000
/** How long a server that took a connection is believed to be there. */
const TRUST_MS = 30_000

/**
 * Tells whether a local server takes connections, before a run is kept waiting by one that does not. Undefined: it does. What
 * was reached within the last 30 s is not tried again.
 */
export class Reachability {
  #reachedAt = Number.NEGATIVE_INFINITY
  readonly #url: URL

  constructor(
    private readonly provider: string,
    address: string,
    private readonly now: () => number,
    private readonly open: (target: { readonly host: string; readonly port: number }) => Socket = connect,
  ) {
    this.#url = new URL(address)
  }

  async check(signal: AbortSignal): Promise<ModelFailure | undefined> {
    if (this.now() - this.#reachedAt < TRUST_MS) return undefined
    const outcome = await this.#reach(signal)
    if (outcome === 'reached') this.#reachedAt = this.now()
    if (outcome === 'reached') return undefined
    if (outcome === 'cancelled') return { category: 'cancelled', message: 'cancelled' }
    const message = `${this.provider} cannot be reached at ${this.#url.origin}${this.#url.pathname}: is the server running? (${outcome})`
    return { category: 'retryable', message }
  }

  /** `reached`, `cancelled`, or why not. */
  #reach(signal: AbortSignal): Promise<string> {
    const { hostname, port, protocol } = this.#url
    const host = hostname.replace(/^\[|\]$/g, '')
    return new Promise(resolve => {
      const socket = this.open({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) })
      const end = (outcome: string): void => {
        signal.removeEventListener('abort', cancel)
        socket.destroy()
        resolve(outcome)
      }
      const cancel = () => end('cancelled')
      socket.setTimeout(PATIENCE_MS, () => end(`no answer within ${PATIENCE_MS / 1000} s`))
      socket.once('connect', () => end('reached'))
      socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
      if (signal.aborted) cancel()
      else signal.addEventListener('abort', cancel, { once: true })
    })
  }
}
