import { Failure } from '#contracts/errors'
import type { ApiKey, KeyStore } from '#contracts/store/key-store'

/** Keys that end with the process, for tests of things that need a key store. */
export function createMemoryKeyStore({ now = Date.now }: { readonly now?: () => number } = {}): KeyStore {
  const keys = new Map<string, ApiKey>()
  const time = () => new Date(now()).toISOString()
  return {
    async find(prefix) {
      return keys.get(prefix)
    },
    async list() {
      const newestFirst = [...keys.values()].reverse()
      return newestFirst.sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0))
    },
    async add(key) {
      if (keys.has(key.prefix)) throw new Failure('conflict', `there already is a key ${key.prefix}`)
      keys.set(key.prefix, key)
    },
    async revoke(prefix) {
      const key = keys.get(prefix)
      if (key) keys.set(prefix, { ...key, revoked_at: key.revoked_at ?? time() })
      return key !== undefined
    },
    async touch(prefix) {
      const key = keys.get(prefix)
      if (key) keys.set(prefix, { ...key, last_used_at: time() })
    },
  }
}
