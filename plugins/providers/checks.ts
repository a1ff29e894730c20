import { messageOf } from '#contracts/errors'
import type { CredentialSource } from '#contracts/model/provider'
import type { Clients } from './clients.js'
import type { Provider } from './directory.js'
import type { Health } from './health.js'
import type { Standing } from './standing.js'

const PATIENCE_MS = 10_000
/** What was seen within this time is not asked for again. */
const FRESH_MS = 60_000
/** Statuses of a server that is there and has no list. */
const NO_LIST: ReadonlySet<number> = new Set([404, 405, 501])

/** Finds out whether providers answer, by questions that cost nothing; each at most once a minute. */
export class Checks {
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(
    private readonly standing: Standing,
    private readonly clients: Clients,
    private readonly health: Health,
    private readonly signal: AbortSignal,
  ) {}

  /** Imported sessions: a token must be had. */
  async sessions(): Promise<void> {
    const { credentials } = this.standing
    const due = this.#due().flatMap(provider => {
      const session = credentials.sessionOf(provider)
      return session ? [this.#once(provider, () => this.#tryToken(provider, session))] : []
    })
    await Promise.all(due)
  }

  /** Every provider that is configured: it must give its list of models. */
  async all(): Promise<void> {
    await Promise.all(this.#due().map(provider => this.#once(provider, () => this.#tryList(provider))))
  }

  #due(): readonly Provider[] {
    return this.standing
      .shown()
      .filter(provider => this.standing.isConfigured(provider) && this.health.ageOf(provider) > FRESH_MS)
  }

  #once({ name }: Provider, ask: () => Promise<void>): Promise<void> {
    const asking = this.#underWay.get(name) ?? ask().finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, asking)
    return asking
  }

  async #tryToken(provider: Provider, session: CredentialSource): Promise<void> {
    try {
      await session(within(this.signal))
      this.health.asked(provider, undefined)
    } catch (error) {
      if (!this.signal.aborted) this.health.asked(provider, { category: 'auth', message: messageOf(error) })
    }
  }

  async #tryList(provider: Provider): Promise<void> {
    const patience = within(this.signal)
    const fetched = await this.clients.of(provider).fetchModels(patience)
    if (this.signal.aborted) return
    if (fetched.kind === 'listed') this.health.asked(provider, undefined)
    else if (patience.aborted)
      this.health.asked(provider, { category: 'retryable', message: `no answer within ${PATIENCE_MS / 1000} s` })
    else if (!NO_LIST.has(fetched.failure.status ?? 0)) this.health.asked(provider, fetched.failure)
  }
}

const within = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
