/** Lets so many work at once; the rest wait in the order they came. */
export class Turnstile {
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(readonly places: number) {}

  /** Runs the work when there is a place. An abort while waiting throws its reason and takes no place. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal)
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  #enter(signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted()
    if (this.#inside < this.places) {
      this.#inside++
      return undefined
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(signal.reason)
      }
      this.#waiting.push(enter)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** The place goes to whoever waits longest. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#inside--
  }
}
