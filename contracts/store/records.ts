/** The databases a deployment can switch on. A collection lives in one of them. */
export type RecordNamespace = 'run' | 'conversation' | 'relay' | 'state'

/** Values a record can be ordered by. */
export type IndexValue = string | number

/**
 * A named set of typed records. `indexes` are derived from the value at every write; changing the list re-indexes the
 * collection when it is next opened. Names are unique per deployment: prefix yours with the plugin's name.
 */
export interface CollectionDefinition<T> {
  readonly name: string
  readonly namespace: RecordNamespace
  /** Index name → value to order by; undefined leaves the record out of that index. */
  readonly indexes?: Readonly<Record<string, (value: T) => IndexValue | undefined>>
  /** Index names in which no two records of a tenant may share a value. */
  readonly unique?: readonly string[]
}

export interface Stored<T> {
  readonly tenantId: string
  readonly key: string
  readonly value: T
  /** Counts writes of this record, from 1; for compare-and-set. */
  readonly version: number
}

export type WriteOutcome = { readonly kind: 'written'; readonly version: number } | { readonly kind: 'conflict' }

export interface Scan {
  /** Absent: all tenants, for background work only. */
  readonly tenantId?: string
  /** Absent: by key. */
  readonly index?: string
  /** Inclusive lower and exclusive upper bound. */
  readonly from?: IndexValue
  readonly below?: IndexValue
  readonly isReverse?: boolean
  readonly limit?: number
}

/** Values are JSON; what is read is a fresh copy. Methods resolve when the work is durable. */
export interface Collection<T> {
  get(tenantId: string, key: string): Promise<Stored<T> | undefined>
  /**
   * `expectedVersion` 0: only if absent; n: only if still that version; undefined: whatever is there. A broken unique
   * index is a conflict too.
   */
  put(tenantId: string, key: string, value: T, expectedVersion?: number): Promise<WriteOutcome>
  /** False when it was absent or not at `expectedVersion`. */
  remove(tenantId: string, key: string, expectedVersion?: number): Promise<boolean>
  /** In index order, then key; at most `limit` (default 100). */
  scan(scan: Scan): Promise<readonly Stored<T>[]>
}

/** Durable state for plugins without SQL of their own. */
export interface Records {
  /** True when the database of that namespace is configured and outlives the process. */
  isDurable(namespace: RecordNamespace): boolean
  collection<T>(definition: CollectionDefinition<T>): Collection<T>
}
