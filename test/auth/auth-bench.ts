import { join } from 'node:path'
import { KEY_STORE } from '#contracts/ports'
import type { ApiKey } from '#contracts/store/key-store'
import { createApiKey } from '#kernel/auth/api-key'
import { type Booted, type BootOptions, boot, createClient } from '#test/kit/boot'

/** A daemon with auth on over a real key store, and keys for it. */
export interface AuthBench extends Booted {
  readonly database: string
  /** Adds a key and returns its text. */
  addKey(key: Partial<ApiKey>): Promise<string>
  as(token: string): ReturnType<typeof createClient>
}

export async function bootWithAuth(options: BootOptions = {}): Promise<AuthBench> {
  const live = await boot({ ...options, isDurable: true, hasAuth: true })
  return {
    ...live,
    database: join(live.dir, 'runs.db'),
    as: token => createClient(live.url, token),
    async addKey(key) {
      const store = live.daemon.host.current.port(KEY_STORE)
      if (!store) throw new Error('no key store')
      const { text, prefix, digest } = createApiKey()
      await store.add({
        prefix,
        digest,
        tenant_id: 'acme',
        name: '',
        scopes: ['admin'],
        created_at: '2026-01-01T00:00:00Z',
        ...key,
      })
      return text
    },
  }
}
