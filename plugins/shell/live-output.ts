const QUIET_MS = 40
const EAGER_BYTES = 4096

/**
 * Shows output while it comes: at once after a silence, else gathered for 40 ms or 4 KB. No character is cut in two.
 * After `limit` bytes it says once that no more is shown. `end` shows what is left and leaves no timer behind.
 */
export class LiveOutput {
  readonly #show: (text: string) => Promise<void> | undefined
  readonly #decoder = new TextDecoder()
  #left: number
  #pending = ''
  #shownAt = 0
  #timer: NodeJS.Timeout | undefined
  #showing: Promise<void> | undefined

  constructor(show: (text: string) => Promise<void> | undefined, limit: number) {
    this.#show = show
    this.#left = limit
  }

  /** Await the promise, if there is one, before more. */
  add(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#left < 0) return undefined
    this.#left -= chunk.length
    const isLast = this.#left < 0
    this.#pending += this.#decoder.decode(isLast ? chunk.subarray(0, chunk.length + this.#left) : chunk, {
      stream: true,
    })
    if (isLast) this.#pending += '\n[... more output follows and is not shown while the command works ...]\n'
    const isDue = isLast || this.#pending.length >= EAGER_BYTES || performance.now() - this.#shownAt >= QUIET_MS
    if (isDue) return this.#flush()
    this.#timer ??= setTimeout(() => {
      // A failure to show is the next `add`'s or the end's to report.
      this.#flush()?.catch(() => {})
    }, QUIET_MS)
    return undefined
  }

  async end(): Promise<void> {
    if (this.#left >= 0) this.#pending += this.#decoder.decode()
    this.#flush()
    await this.#showing
  }

  /** Stops without showing what is left. */
  drop(): void {
    clearTimeout(this.#timer)
    this.#pending = ''
  }

  #flush(): Promise<void> | undefined {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#pending === '') return this.#showing
    const text = this.#pending
    this.#pending = ''
    this.#shownAt = performance.now()
    const before = this.#showing
    const showing = before ? before.then(() => this.#show(text)) : this.#show(text)
    if (!showing) return undefined
    const settled = showing.finally(() => {
      if (this.#showing === settled) this.#showing = undefined
    })
    this.#showing = settled
    return settled
  }
}
