import type Database from 'better-sqlite3'

/** Collects writes and commits those of one tick together. */
export class WriteBatch<Owner> {
  #pending: { readonly owner: Owner; readonly statement: Database.Statement; readonly values: readonly unknown[] }[] =
    []

  constructor(
    private readonly database: Database.Database,
    /** Told of every owner whose writes are committed. */
    private readonly committed: (owner: Owner) => void,
  ) {}

  add(owner: Owner, statement: Database.Statement, ...values: readonly unknown[]): void {
    if (this.#pending.push({ owner, statement, values }) === 1) setImmediate(() => this.#commit())
  }

  #commit(): void {
    const batch = this.#pending
    this.#pending = []
    this.database.transaction(() => {
      for (const { statement, values } of batch) statement.run(...values)
    })()
    for (const owner of new Set(batch.map(({ owner }) => owner))) this.committed(owner)
  }
}
