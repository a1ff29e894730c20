import { Failure } from '#contracts/errors'

const RETRY_AFTER_SECONDS = 2

/** Bounds how much is under way at once, and how much of it is one tenant's. */
export class Turns {
  #busy = 0
  readonly #byTenant = new Map<string, number>()

  constructor(private readonly max: number) {}

  /** Does the work, or fails with `rate_limited` when there is too much of it already. */
  async take<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const own = this.#byTenant.get(tenantId) ?? 0
    if (this.#busy >= this.max || own >= Math.ceil(this.max / 2))
      throw new Failure('rate_limited', 'too many summaries are being written at once; try again', {
        details: { retryAfterSeconds: RETRY_AFTER_SECONDS },
      })
    this.#busy += 1
    this.#byTenant.set(tenantId, own + 1)
    try {
      return await work()
    } finally {
      this.#busy -= 1
      const left = (this.#byTenant.get(tenantId) ?? 1) - 1
      if (left > 0) this.#byTenant.set(tenantId, left)
      else this.#byTenant.delete(tenantId)
    }
  }
}
