import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ApiKey, KeyStore } from '#contracts/store/key-store'
import type { OpenStore, StoreOpener } from './samples.js'

const aKey = (prefix: string, over: Partial<ApiKey> = {}): ApiKey => ({
  prefix,
  digest: `digest of ${prefix}`,
  tenant_id: 'acme',
  name: 'ci',
  scopes: ['runs:read', 'runs:write'],
  created_at: '2026-01-01T00:00:00.000Z',
  ...over,
})

/** Every promise of `KeyStore`. */
export function describeKeyStore(name: string, open: StoreOpener<KeyStore>): void {
  describe(`${name} keeps the promises of a key store`, () => {
    let opened: OpenStore<KeyStore>
    let keys: KeyStore
    const reopened = async () => {
      if (!opened.reopen) return
      opened = await opened.reopen()
      keys = opened.store
    }
    beforeEach(async () => {
      opened = await open()
      keys = opened.store
    })
    afterEach(() => opened.close())

    test('keys are found by prefix and listed newest first', async () => {
      const old = aKey('rw_aaaaa')
      const recent = aKey('rw_bbbbb', {
        created_at: '2026-02-01T00:00:00.000Z',
        expires_at: '2027-01-01T00:00:00.000Z',
      })
      await keys.add(recent)
      await keys.add(old)
      await reopened()
      expect(await keys.find('rw_aaaaa')).toEqual(old)
      expect(await keys.find('rw_ccccc')).toBeUndefined()
      expect(await keys.list()).toEqual([recent, old])
    })

    test('a prefix in use is refused', async () => {
      await keys.add(aKey('rw_aaaaa'))
      await expect(keys.add(aKey('rw_aaaaa', { digest: 'other' }))).rejects.toMatchObject({ code: 'conflict' })
      expect((await keys.find('rw_aaaaa'))?.digest).toBe('digest of rw_aaaaa')
    })

    test('a revocation is seen at once and keeps its first time', async () => {
      await keys.add(aKey('rw_aaaaa'))
      expect(await keys.revoke('rw_zzzzz')).toBe(false)
      expect(await keys.revoke('rw_aaaaa')).toBe(true)
      const first = (await keys.find('rw_aaaaa'))?.revoked_at
      expect(first).toMatch(/^\d{4}-.*Z$/)
      await reopened()
      expect(await keys.revoke('rw_aaaaa')).toBe(true)
      expect((await keys.find('rw_aaaaa'))?.revoked_at).toBe(first)
    })

    test('the use of a key is noted', async () => {
      await keys.add(aKey('rw_aaaaa'))
      await keys.touch('rw_aaaaa')
      await keys.touch('rw_zzzzz')
      expect((await keys.find('rw_aaaaa'))?.last_used_at).toMatch(/^\d{4}-.*Z$/)
    })
  })
}
