import { messageOf } from '#contracts/errors'
import type { ModelFailure } from '#contracts/model/client'
import type { CredentialSource } from '#contracts/model/provider'
import type { Clients } from './clients.js'
import type { Provider } from './directory.js'
import type { Health } from './health.js'
import type { Standing } from './standing.js'

const PATIENCE_MS = 10_000
/** Statuses of a server that is there and has no list. */
const NO_LIST: ReadonlySet<number> = new Set([404, 405, 501])

/** Finds out whether providers answer, by questions that cost nothing; each at most once a minute, whoever asks. */
export class Checks {
  readonly #underWay = new Map<string, Promise<void>>()

  /** `signal` ends with the generation: one caller that goes away takes the answer from nobody else. */
  constructor(
    private readonly standing: Standing,
    private readonly clients: Clients,
    private readonly health: Health,
    private readonly signal: AbortSignal,
  ) {}

  /** Imported sessions: a token must be had. */
  async sessions(): Promise<void> {
    const { credentials } = this.standing
    await this.#ask(provider => {
      const session = credentials.sessionOf(provider)
      return session && (() => this.#tryToken(provider, session))
    })
  }

  /** Every provider that is configured: it must give its list of models. */
  async all(): Promise<void> {
    await this.#ask(provider => () => this.#tryList(provider))
  }

  async #ask(question: (provider: Provider) => (() => Promise<void>) | undefined): Promise<void> {
    const asking = this.standing
      .shown()
      .filter(provider => this.standing.isConfigured(provider))
      .map(provider => this.#underWay.get(provider.name) ?? this.#start(provider, question(provider)))
    await Promise.all(asking)
  }

  #start(provider: Provider, ask: (() => Promise<void>) | undefined): Promise<void> | undefined {
    if (ask === undefined || !this.health.isDue(provider)) return undefined
    const { name } = provider
    this.health.asking(provider)
    const asking = ask().finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, asking)
    return asking
  }

  async #tryToken(provider: Provider, session: CredentialSource): Promise<void> {
    const patience = this.#patience()
    const late = new Promise<never>((_, reject) => {
      patience.addEventListener('abort', () => reject(new Error(SLOW)), { once: true })
    })
    late.catch(() => undefined)
    try {
      await Promise.race([late, session(patience)])
      this.#note(provider, undefined)
    } catch (error) {
      this.#note(provider, { category: 'auth', message: messageOf(error) })
    }
  }

  async #tryList(provider: Provider): Promise<void> {
    const patience = this.#patience()
    const fetched = await this.clients.of(provider).fetchModels(patience)
    if (fetched.kind === 'listed') this.#note(provider, undefined)
    else if (patience.aborted) this.#note(provider, { category: 'retryable', message: SLOW })
    else if (!NO_LIST.has(fetched.failure.status ?? 0)) this.#note(provider, fetched.failure)
  }

  #note(provider: Provider, failure: ModelFailure | undefined): void {
    if (!this.signal.aborted) this.health.asked(provider, failure)
  }

  #patience(): AbortSignal {
    return AbortSignal.any([this.signal, AbortSignal.timeout(PATIENCE_MS)])
  }
}

const SLOW = `no answer within ${PATIENCE_MS / 1000} s`
