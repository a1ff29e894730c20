import type { Scope } from '#contracts/identity'
import type { ApiKey, KeyStore } from '#contracts/store/key-store'
import type { OpenDatabase } from './databases.js'
import type { Value } from './protocol.js'
import { rowsOf } from './rows.js'

/** Noting every use would make every request a write. */
const TOUCH_INTERVAL_MS = 5_000
const MAX_TOUCHED = 1_000

/** API keys in a database file. Every read goes there, so that what another process wrote is seen at once. */
export function createSqliteKeyStore({ now, send }: OpenDatabase): KeyStore {
  const touchedAt = new Map<string, number>()
  const time = () => new Date(now()).toISOString()

  return {
    async find(prefix) {
      const reply = await send('key.find', [prefix])
      return reply.length === 0 ? undefined : keyFrom(reply)
    },

    async list() {
      return rowsOf(await send('key.list', []), 9).map(keyFrom)
    },

    async add({ prefix, digest, tenant_id, name, scopes, created_at, expires_at, revoked_at, last_used_at }) {
      const times = [created_at, expires_at ?? null, revoked_at ?? null, last_used_at ?? null]
      await send('key.add', [prefix, digest, tenant_id, name, JSON.stringify(scopes), ...times])
    },

    async revoke(prefix) {
      const [changed] = await send('key.revoke', [prefix, time()])
      return changed === 1
    },

    async touch(prefix) {
      const at = now()
      if (at - (touchedAt.get(prefix) ?? 0) < TOUCH_INTERVAL_MS) return
      if (touchedAt.size >= MAX_TOUCHED) touchedAt.clear()
      touchedAt.set(prefix, at)
      await send('key.touch', [prefix, time()])
    },
  }
}

function keyFrom(row: readonly Value[]): ApiKey {
  const [prefix, digest, tenantId, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt] = row
  return {
    prefix: String(prefix),
    digest: String(digest),
    tenant_id: String(tenantId),
    name: String(name),
    scopes: JSON.parse(String(scopes)) as Scope[],
    created_at: String(createdAt),
    ...(expiresAt === null ? {} : { expires_at: String(expiresAt) }),
    ...(revokedAt === null ? {} : { revoked_at: String(revokedAt) }),
    ...(lastUsedAt === null ? {} : { last_used_at: String(lastUsedAt) }),
  }
}
