import type { ActiveRun } from '#contracts/run/active-run'

const GATE = Symbol.for('runwright.steering.gate')

/**
 * Decides between a message and the end of its run: a run closes its gate before it looks for the last messages, waits for
 * those under way, and what comes after is refused. So no message is acknowledged that the run will not read.
 */
export class Gate {
  isClosed = false
  readonly #underWay = new Set<Promise<unknown>>()

  /** Posts through the gate; undefined when it is closed. */
  async post<T>(send: () => Promise<T>): Promise<T | undefined> {
    if (this.isClosed) return undefined
    const posting = send()
    const settled = posting.then(nothing, nothing)
    this.#underWay.add(settled)
    try {
      return await posting
    } finally {
      this.#underWay.delete(settled)
    }
  }

  /** Lets nothing in any more; resolves when what was on its way has arrived. */
  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all(this.#underWay)
  }

  open(): void {
    this.isClosed = false
  }
}

/** The gate of a run; the same for every generation of the plugin. */
export const gateOf = (run: ActiveRun): Gate => run.slot(GATE, () => new Gate())

const nothing = (): void => undefined
