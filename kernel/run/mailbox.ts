import type { PluginLog } from '#contracts/plugin'
import type { Waiting } from '#contracts/run/active-run'
import type { Letter, RunStore } from '#contracts/store/run-store'
import { untilStored } from '../events/until-stored.js'
import { unlessAborted, waitUntil } from '../waits.js'

/** The run a mailbox belongs to. */
export interface Addressee {
  readonly id: string
  readonly tenantId: string
  readonly store: RunStore
  readonly signal: AbortSignal
  readonly log: PluginLog
  /** A former process had it: letters may be waiting. Nobody knows a new run yet; whoever posts to it pokes it. */
  readonly isClaimed: boolean
}

/** The letters of one run, as the run itself sees them. Taking one says nothing to the store: the next unit does. */
export class Mailbox {
  readonly #wakes = new Set<() => void>()
  readonly #taken = new Set<string>()
  #mayHaveLetters: boolean

  constructor(private readonly run: Addressee) {
    this.#mayHaveLetters = run.isClaimed
  }

  /** Letters of a kind that were not taken before, oldest first. Costs nothing while none was posted. */
  async take(kind: string): Promise<readonly Letter[]> {
    if (!this.#mayHaveLetters) return []
    // Before the read: a letter that is posted while the read is under way may be missing from it.
    this.#mayHaveLetters = false
    const letters = await this.#unread().catch((error: unknown) => {
      this.#mayHaveLetters = true
      throw error
    })
    if (letters.some(letter => letter.kind !== kind)) this.#mayHaveLetters = true
    const taken = letters.filter(letter => letter.kind === kind && !this.#taken.has(letter.id))
    for (const letter of taken) this.#taken.add(letter.id)
    return taken
  }

  /** A run that is being cancelled looks, too: how it ends may depend on what it was told. One that is stopped here gives up. */
  #unread(): Promise<readonly Letter[]> {
    const { store, id, signal } = this.run
    return untilStored(this.run, () => store.letters(id), signal.aborted ? undefined : signal)
  }

  poke(): void {
    this.#mayHaveLetters = true
    const wakes = [...this.#wakes]
    this.#wakes.clear()
    for (const wake of wakes) wake()
  }

  /** The letter that answers, which may be the time-out's. Rejects when the run is interrupted. */
  async answer({ kind, key, deadlineAt }: Waiting): Promise<Letter> {
    const { store, id, tenantId } = this.run
    for (;;) {
      const posted = new Promise<void>(resolve => this.#wakes.add(resolve))
      const letters = await this.#stored(() => store.letters(id))
      const letter = letters.find(each => each.kind === kind && (key === undefined || each.key === key))
      if (letter) return letter
      if (await this.#deadlineCame(deadlineAt, posted)) {
        // The time-out competes for the same single-use key as the answers do: whoever is stored first has won.
        const timeOut = { kind, ...(key !== undefined && { key }), body: TIME_OUT }
        await this.#stored(() => store.post(tenantId, id, timeOut))
      }
    }
  }

  #stored<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.run
    return unlessAborted(untilStored(this.run, work, signal), signal)
  }

  async #deadlineCame(deadlineAt: number | undefined, posted: Promise<void>): Promise<boolean> {
    const { store, signal } = this.run
    if (deadlineAt === undefined) {
      await unlessAborted(posted, signal)
      return false
    }
    const stop = new AbortController()
    const deadline = waitUntil(deadlineAt, () => store.now(), AbortSignal.any([signal, stop.signal]))
    try {
      return await Promise.race([posted.then(() => false), deadline.then(() => true)])
    } finally {
      deadline.catch(() => undefined)
      stop.abort()
    }
  }
}

const TIME_OUT = Object.freeze({ timed_out: true })

/** The letter the time-out posts. */
export const isTimeOut = ({ body }: Letter): boolean => typeof body === 'object' && body !== null && 'timed_out' in body
