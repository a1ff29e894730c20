import type { ActiveRun } from '#contracts/run/active-run'
import type { Collection, Records } from '#contracts/store/records'

const MAX_KEYS = 100
const MAX_BYTES = 64 * 1024
const MAX_TRIES = 20

/** Key → JSON value. */
export type Entries = Readonly<Record<string, unknown>>

interface Kept {
  readonly entries: Entries
}

export type MemoryChange = { readonly kind: 'changed' } | { readonly kind: 'refused'; readonly because: string }

/** Small notes of an agent in a conversation of a tenant; durable where the state database is. */
export class WorkingMemory {
  readonly #kept: Collection<Kept>

  constructor(records: Records) {
    this.#kept = records.collection<Kept>({ name: 'working-memory.scopes', namespace: 'state' })
  }

  async read(run: ActiveRun): Promise<Entries> {
    return (await this.#kept.get(run.tenantId, scopeOf(run)))?.value.entries ?? {}
  }

  /** Applies a change to what is kept now, also when another run of the conversation changes it at the same time. */
  async change(run: ActiveRun, edit: (entries: Record<string, unknown>) => void): Promise<MemoryChange> {
    const [tenantId, scope] = [run.tenantId, scopeOf(run)]
    for (let round = 0; round < MAX_TRIES; round++) {
      const stored = await this.#kept.get(tenantId, scope)
      const entries: Record<string, unknown> = { ...stored?.value.entries }
      edit(entries)
      const size = Object.keys(entries).length
      if (size > MAX_KEYS) return { kind: 'refused', because: `there are ${MAX_KEYS} keys already; delete one first` }
      if (Buffer.byteLength(JSON.stringify(entries)) > MAX_BYTES)
        return { kind: 'refused', because: `all values together may take ${MAX_BYTES} bytes; delete or shorten some` }
      const outcome = await this.#kept.put(tenantId, scope, { entries }, stored?.version ?? 0)
      if (outcome.kind === 'written') return { kind: 'changed' }
    }
    return { kind: 'refused', because: 'others keep changing it at the same time; try again' }
  }
}

const scopeOf = ({ conversationId, agentId }: ActiveRun): string => JSON.stringify([conversationId, agentId])
