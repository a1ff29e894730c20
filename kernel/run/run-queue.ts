/** A place in the queue, taken before anything of the run is stored; used once, by `enter` or `giveBack`. */
export interface Place {
  /** The run has to wait for its turn. */
  readonly mustWait: boolean
}

/** Work that waits for a free place, first come first served. A limit of 0 means there is always one. */
export class RunQueue {
  readonly #waiting = new Map<string, () => Promise<void>>()
  /** Places in use or promised. */
  #taken = 0
  /** Places at the end of the queue that were promised. */
  #promised = 0
  #isClosed = false

  constructor(private readonly limit: () => number) {}

  /** Runs that wait, or are about to. */
  get waiting(): number {
    return this.#waiting.size + this.#promised
  }

  /** Decides now whether a run that is about to be stored may start at once. */
  reserve(): Place {
    const mustWait = !this.#hasRoom || this.waiting > 0
    if (mustWait) this.#promised++
    else this.#taken++
    return { mustWait }
  }

  giveBack({ mustWait }: Place): void {
    if (mustWait) this.#promised--
    else this.#taken--
    this.#fill()
  }

  /** Starts the work now or when it is its turn. The work must not throw. */
  enter({ mustWait }: Place, id: string, work: () => Promise<void>): void {
    if (!mustWait) {
      this.#run(work)
      return
    }
    this.#promised--
    this.#waiting.set(id, work)
    this.#fill()
  }

  /** Starts a waiting run at once, whatever the limit: it has nothing left to do but end. */
  hurry(id: string): void {
    const work = this.#waiting.get(id)
    if (!work) return
    this.#waiting.delete(id)
    void work()
  }

  /** Starts nothing any more. */
  close(): void {
    this.#isClosed = true
  }

  get #hasRoom(): boolean {
    const limit = this.limit()
    return limit === 0 || this.#taken < limit
  }

  #run(work: () => Promise<void>): void {
    void work().finally(() => {
      this.#taken--
      this.#fill()
    })
  }

  /** A limit may have been raised meanwhile, so it goes on until there is no room. */
  #fill(): void {
    for (const [id, work] of this.#waiting) {
      if (this.#isClosed || !this.#hasRoom) return
      this.#waiting.delete(id)
      this.#taken++
      this.#run(work)
    }
  }
}
