import type { IncomingMessage } from 'node:http'
import { Failure } from '#contracts/errors'
import { type Identity, normaliseTenant, OPEN_IDENTITY } from '#contracts/identity'
import type { ApiKey, KeyStore } from '#contracts/store/key-store'
import { digestBytesOf, hasChecksum, isSameDigest, prefixOf } from './api-key.js'
import { tokenOf } from './request-token.js'

/** How long an answer of the store is believed: half of the second within which a revocation has to act. */
const FRESH_MS = 500
const MAX_CACHED = 10_000
const TOUCH_EVERY_MS = 60_000
/** Compared when there is no such key, so that an unknown id costs what a wrong secret does. */
const NO_DIGEST = Buffer.alloc(32)

export interface KeyringOptions {
  /** Undefined: nobody configured keys, and auth is off. */
  readonly keyStore: () => KeyStore | undefined
  readonly authDisabled: () => boolean
  /** Milliseconds since the epoch; what expires a key. */
  readonly now: () => number
}

export interface Keyring {
  /**
   * Who is behind a request; at once while the key is fresh in memory. Fails with `unauthorized` and one of three
   * messages, or with `internal_error` when the store cannot answer.
   */
  identify(request: IncomingMessage): Identity | Promise<Identity>
  /** False once the key of an open stream was revoked or has expired. Fails when the store cannot answer. */
  isStillValid(identity: Identity): Promise<boolean>
}

interface Known {
  readonly digest: Buffer
  /** Undefined: no such key, or revoked. */
  readonly identity: Identity | undefined
  readonly expiresAtMs: number
  readonly readAtMs: number
}

/** The auth check: reads keys through a small, short-lived cache, so that another process can revoke one at any time. */
export function createKeyring({ keyStore, authDisabled, now }: KeyringOptions): Keyring {
  let cachedStore: KeyStore | undefined
  let cache = new Map<string, Known>()
  const pending = new Map<string, Promise<Known>>()
  const touchedAtMs = new Map<string, number>()

  const cached = (store: KeyStore, prefix: string): Known | undefined => {
    if (store !== cachedStore) {
      cachedStore = store
      cache = new Map()
      pending.clear()
    }
    const known = cache.get(prefix)
    const ageMs = known === undefined ? 0 : now() - known.readAtMs
    // A clock that was set back must not keep an answer alive.
    return ageMs >= 0 && ageMs < FRESH_MS ? known : undefined
  }
  const look = (store: KeyStore, prefix: string): Promise<Known> => {
    const running = pending.get(prefix)
    if (running !== undefined) return running
    const readAtMs = now()
    const reading = find(store, prefix)
      .then(key => {
        const known = knownOf(key, readAtMs)
        cache.delete(prefix)
        if (store === cachedStore) cache.set(prefix, known)
        if (cache.size > MAX_CACHED) dropOldest(cache)
        return known
      })
      .finally(() => {
        if (pending.get(prefix) === reading) pending.delete(prefix)
      })
    pending.set(prefix, reading)
    return reading
  }
  const touch = (store: KeyStore, prefix: string) => {
    const last = touchedAtMs.get(prefix)
    if (last !== undefined && Math.abs(now() - last) < TOUCH_EVERY_MS) return
    touchedAtMs.set(prefix, now())
    if (touchedAtMs.size > MAX_CACHED) dropOldest(touchedAtMs)
    // Only a note of use: losing one fails no request.
    store.touch(prefix).catch(() => touchedAtMs.delete(prefix))
  }
  const admit = (
    store: KeyStore,
    prefix: string,
    { digest, identity, expiresAtMs }: Known,
    shown: Buffer,
  ): Identity => {
    const isRight = isSameDigest(digest, shown)
    if (!isRight || identity === undefined) throw new Failure('unauthorized', 'invalid api key')
    if (expiresAtMs <= now()) throw new Failure('unauthorized', 'api key expired')
    touch(store, prefix)
    return identity
  }

  return {
    identify(request) {
      const store = keyStore()
      if (store === undefined || authDisabled()) return OPEN_IDENTITY
      const token = tokenOf(request)
      const prefix = prefixOf(token)
      if (prefix === undefined) throw new Failure('unauthorized', 'invalid api key')
      const shown = digestBytesOf(token)
      const known = cached(store, prefix)
      if (known !== undefined) return admit(store, prefix, known, shown)
      if (!hasChecksum(token)) throw new Failure('unauthorized', 'invalid api key')
      return look(store, prefix).then(found => admit(store, prefix, found, shown))
    },
    async isStillValid(identity) {
      if (authDisabled()) return true
      const store = keyStore()
      const { keyPrefix } = identity
      if (store === undefined) return keyPrefix === undefined
      if (keyPrefix === undefined) return false
      const known = cached(store, keyPrefix) ?? (await look(store, keyPrefix))
      return known.identity?.tenantId === identity.tenantId && known.expiresAtMs > now()
    },
  }
}

async function find(store: KeyStore, prefix: string): Promise<ApiKey | undefined> {
  try {
    return await store.find(prefix)
  } catch (cause) {
    throw new Failure('internal_error', 'auth check failed', { cause })
  }
}

/** A revoked key has no identity; an expiry that cannot be read counts as past. */
function knownOf(key: ApiKey | undefined, readAtMs: number): Known {
  if (key === undefined) return { digest: NO_DIGEST, identity: undefined, expiresAtMs: 0, readAtMs }
  const digest = Buffer.from(key.digest, 'hex')
  if (key.revoked_at !== undefined) return { digest, identity: undefined, expiresAtMs: 0, readAtMs }
  const identity = Object.freeze({
    tenantId: normaliseTenant(key.tenant_id),
    keyPrefix: key.prefix,
    scopes: Object.freeze([...key.scopes]),
  })
  const expiresAtMs = key.expires_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at) || 0
  return { digest, identity, expiresAtMs, readAtMs }
}

function dropOldest(map: Map<string, unknown>) {
  const [oldest = ''] = map.keys()
  map.delete(oldest)
}
