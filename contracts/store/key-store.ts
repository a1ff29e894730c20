import type { Scope } from '../identity.js'

/** An API key at rest: nothing in it can be turned back into the key. */
export interface ApiKey {
  /** The first eight characters of the key. */
  readonly prefix: string
  /** SHA-256 of the whole key, hex. */
  readonly digest: string
  readonly tenant_id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly created_at: string
  readonly expires_at?: string
  readonly revoked_at?: string
  readonly last_used_at?: string
}

/** Keys of all tenants. Another process may add and revoke while the daemon runs; readers see it at once. */
export interface KeyStore {
  find(prefix: string): Promise<ApiKey | undefined>
  /** Newest first. */
  list(): Promise<readonly ApiKey[]>
  /** Fails with `conflict` when the prefix is in use. */
  add(key: ApiKey): Promise<void>
  /** False when there is no such key; revoking twice keeps the first time. */
  revoke(prefix: string): Promise<boolean>
  /** Notes the use of a key; may be lost in a crash. */
  touch(prefix: string): Promise<void>
}
