import type { PrivateNetwork } from './private-network.js'

/** A network that a command uses. */
export interface Lease {
  readonly network: PrivateNetwork
  /** Call it when no process of the command is left. */
  end(): void
}

/** So many are kept for somebody who may come back; to keep one costs 1 MB of memory and two processes. */
const MAX_IDLE = 8

/**
 * Private networks, one for each key, opened for the first command that wants it and kept for a while after the last:
 * between two commands no process is in it, so nothing is lost when it goes.
 */
export class Networks {
  readonly #shared = new Map<string, Shared>()

  constructor(
    private readonly open: () => Promise<PrivateNetwork>,
    private readonly idleMs: number,
  ) {}

  /** Rejects as `open` does. Without a key it is the command's alone and goes with it. */
  async lease(key: string | undefined): Promise<Lease> {
    if (key === undefined) {
      const network = await this.open()
      return { network, end: () => network.close() }
    }
    const shared = this.#shared.get(key) ?? this.#add(key)
    clearTimeout(shared.timer)
    shared.users++
    try {
      const network = await shared.opening
      if (!network.isLost()) return { network, end: () => this.#left(key, shared) }
    } catch (error) {
      this.#left(key, shared)
      throw error
    }
    this.#left(key, shared)
    return this.lease(key)
  }

  #add(key: string): Shared {
    const shared: Shared = { opening: this.open(), users: 0, timer: undefined }
    const forget = () => {
      clearTimeout(shared.timer)
      if (this.#shared.get(key) === shared) this.#shared.delete(key)
    }
    shared.opening.then(({ lost }) => lost.addEventListener('abort', forget, { once: true }), forget)
    this.#shared.set(key, shared)
    return shared
  }

  #left(key: string, shared: Shared): void {
    shared.users--
    if (shared.users > 0 || this.#shared.get(key) !== shared) return
    // Put behind the others, so that the first idle one is the one unused for longest.
    this.#shared.delete(key)
    this.#shared.set(key, shared)
    shared.timer = setTimeout(() => this.#drop(key, shared), this.idleMs)
    shared.timer.unref()
    const idle = [...this.#shared].filter(([, { users }]) => users === 0)
    for (const [key, shared] of idle.slice(0, -MAX_IDLE)) this.#drop(key, shared)
  }

  #drop(key: string, shared: Shared): void {
    clearTimeout(shared.timer)
    this.#shared.delete(key)
    shared.opening.then(
      network => network.close(),
      () => undefined,
    )
  }
}

interface Shared {
  readonly opening: Promise<PrivateNetwork>
  users: number
  timer: NodeJS.Timeout | undefined
}
