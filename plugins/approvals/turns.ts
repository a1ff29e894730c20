/** Lets one piece of work at a time run, in the order it came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** One that fails stops none that follow. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}
