import type { Waiting } from '#contracts/run/active-run'
import type { Letter, RunStore } from '#contracts/store/run-store'
import { untilStored } from '../events/until-stored.js'
import { unlessAborted, waitUntil } from './interrupt.js'

export interface MailboxOptions {
  readonly runId: string
  readonly tenantId: string
  readonly store: RunStore
  readonly signal: AbortSignal
  /** A former process had the run: letters may be waiting. Nobody knows a new run yet; whoever posts to it pokes it. */
  readonly mayHaveLetters: boolean
  /** Told when the store cannot answer and is asked again. */
  readonly waits: (error: unknown) => void
}

/** The letters of one run, as the run itself sees them. Taking one says nothing to the store: the next unit does. */
export class Mailbox {
  readonly #wakes = new Set<() => void>()
  readonly #taken = new Set<string>()
  #mayHaveLetters: boolean

  constructor(private readonly options: MailboxOptions) {
    this.#mayHaveLetters = options.mayHaveLetters
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
    const { store, runId, waits, signal } = this.options
    return untilStored(() => store.letters(runId), waits, signal.aborted ? undefined : signal)
  }

  /** Somebody posted a letter. */
  poke(): void {
    this.#mayHaveLetters = true
    const wakes = [...this.#wakes]
    this.#wakes.clear()
    for (const wake of wakes) wake()
  }

  /** The letter that answers, which may be the time-out's. Rejects when the run is interrupted. */
  async answer(waiting: Waiting): Promise<Letter> {
    const { store, runId, tenantId } = this.options
    for (;;) {
      const posted = new Promise<void>(resolve => this.#wakes.add(resolve))
      const letters = await this.#stored(() => store.letters(runId))
      const letter = letters.find(
        each => each.kind === waiting.kind && (waiting.key === undefined || each.key === waiting.key),
      )
      if (letter) return letter
      if (await this.#deadlineCame(waiting, posted)) {
        // The time-out competes for the same single-use key as the answers do: whoever is stored first has won.
        await this.#stored(() =>
          store.post(tenantId, runId, {
            kind: waiting.kind,
            ...(waiting.key !== undefined && { key: waiting.key }),
            body: TIME_OUT,
          }),
        )
      }
    }
  }

  /** A store that cannot answer at the moment makes a run wait longer; it is no reason to end it. */
  #stored<T>(work: () => Promise<T>): Promise<T> {
    const { waits, signal } = this.options
    return unlessAborted(untilStored(work, waits, signal), signal)
  }

  async #deadlineCame(waiting: Waiting, posted: Promise<void>): Promise<boolean> {
    const { store, signal } = this.options
    if (waiting.deadlineAt === undefined) {
      await unlessAborted(posted, signal)
      return false
    }
    const stop = new AbortController()
    const deadline = waitUntil(waiting.deadlineAt, () => store.now(), AbortSignal.any([signal, stop.signal]))
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
export const isTimeOut = (letter: Letter): boolean =>
  typeof letter.body === 'object' && letter.body !== null && 'timed_out' in letter.body
