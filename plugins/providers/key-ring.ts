import { Failure, messageOf } from '#contracts/errors'
import { DEFAULT_TENANT } from '#contracts/identity'
import type { PluginLog } from '#contracts/plugin'
import type { Collection, Records } from '#contracts/store/records'
import type { CarriedState } from './carried.js'
import { digestOf, newSalt, Seal, type Sealed } from './seal.js'

/** A key on disk. `address` is readable, so that an operator can tell what a record is for. */
type KeyRecord = { readonly address: string; readonly sealed: Sealed } | { readonly salt: string }

const COLLECTION = { name: 'providers.keys', namespace: 'state' } as const
const SALT = 'salt'
/** Before a provider's name, whatever that is. */
const OF = 'key:'
const MOST_KEYS = 1000
const LONGEST_KEY = 8192
const PRINTABLE = /^[\x21-\x7e]+$/

export interface KeyRingParts {
  readonly state: CarriedState
  readonly records: Records
  /** Empty: keys stay in memory. */
  readonly secret: string
  readonly log: PluginLog
}

type Row = { readonly key: string; readonly value: KeyRecord }

/** Keys given over the API: in memory, and encrypted in the records where the deployment has a secret for that. */
export class KeyRing {
  readonly #state: CarriedState
  readonly #records: Collection<KeyRecord> | undefined
  #seal: Promise<Seal> | undefined

  constructor(private readonly parts: KeyRingParts) {
    this.#state = parts.state
    this.#records = parts.secret === '' ? undefined : parts.records.collection<KeyRecord>(COLLECTION)
  }

  /**
   * Brings back what was stored, unless it is there already, and stores anew what is there and not so stored under this
   * secret. Never rejects: what cannot be read is logged and stays where it is, and its providers have no key.
   */
  async load(): Promise<void> {
    const { secret, records, log } = this.parts
    const under = digestOf(secret)
    // Without a secret the database is not even opened, and what is given meanwhile is newer than what it holds.
    if (this.#records === undefined) this.#state.readUnder = undefined
    if (this.#records === undefined || this.#state.readUnder === under) return
    if (!records.isDurable('state'))
      log.warn({}, 'provider keys have a secret but no database to be kept in: they end with this process')
    try {
      const rows = await this.#records.scan({ tenantId: DEFAULT_TENANT, limit: MOST_KEYS + 1 })
      const { keys } = this.#state
      const kept = new Set(rows.length > 0 ? this.#unlock(rows, await this.#sealOf()) : [])
      for (const [name, { secret: key, address }] of keys) if (!kept.has(name)) await this.#keep(name, key, address)
      this.#state.readUnder = under
    } catch (error) {
      log.error({ error: messageOf(error) }, 'stored provider keys cannot be read; give them again')
    }
  }

  /** Resolves when the key is stored, where it is to be, and in force. */
  async set(name: string, key: string, address: string): Promise<void> {
    const secret = key.trim()
    if (secret === '') throw new Failure('invalid_request', 'key: it must not be empty')
    if (secret.length > LONGEST_KEY || !PRINTABLE.test(secret))
      throw new Failure(
        'invalid_request',
        `key: it must be at most ${LONGEST_KEY} printable ASCII characters without spaces inside`,
      )
    if (!this.#state.keys.has(name) && this.#state.keys.size >= MOST_KEYS)
      throw new Failure('invalid_request', `no more than ${MOST_KEYS} providers can have keys`)
    await this.#keep(name, secret, address)
    this.#state.keys.set(name, { secret, address })
    this.#state.locked = new Set([...this.#state.locked].filter(other => other !== name))
    this.#state.keyChanges.set(name, (this.#state.keyChanges.get(name) ?? 0) + 1)
  }

  async #keep(name: string, key: string, address: string): Promise<void> {
    if (this.#records === undefined) return
    const sealed = (await this.#sealOf()).close(key, aboutOf(name, address))
    await this.#records.put(DEFAULT_TENANT, OF + name, { address, sealed })
  }

  /** Names of the providers whose key is stored as it is in memory; what is there already is newer than what is stored. */
  #unlock(rows: readonly Row[], seal: Seal): readonly string[] {
    const { keys } = this.#state
    const kept: string[] = []
    const locked: string[] = []
    for (const { key, value } of rows) {
      if ('salt' in value) continue
      const name = key.slice(OF.length)
      const secret = seal.open(value.sealed, aboutOf(name, value.address))
      if (secret === undefined && !keys.has(name)) locked.push(name)
      if (secret !== undefined && !keys.has(name)) keys.set(name, { secret, address: value.address })
      const held = keys.get(name)
      if (held && held.secret === secret && held.address === value.address) kept.push(name)
    }
    this.#state.locked = new Set(locked)
    if (locked.length > 0) this.parts.log.error({ providers: locked }, OTHER_SECRET)
    return kept
  }

  #sealOf(): Promise<Seal> {
    this.#seal ??= this.#openSeal().catch((error: unknown) => {
      this.#seal = undefined
      throw error
    })
    return this.#seal
  }

  async #openSeal(): Promise<Seal> {
    const records = this.#records as Collection<KeyRecord>
    const stored = await records.get(DEFAULT_TENANT, SALT)
    const salt = stored && 'salt' in stored.value ? Buffer.from(stored.value.salt, 'base64') : newSalt()
    // Another process may be first: then its salt counts.
    if (!stored) {
      const written = await records.put(DEFAULT_TENANT, SALT, { salt: salt.toString('base64') }, 0)
      if (written.kind === 'conflict') return this.#openSeal()
    }
    return Seal.from(this.parts.secret, salt)
  }
}

const OTHER_SECRET =
  'stored provider keys were encrypted with another secret than SVC_PROVIDER_KEYS_SECRET now holds, or are damaged: put the ' +
  'old one back, or give the keys again (PUT /v1/providers/{name}/key)'

/** A record that is moved to another provider or address cannot be opened there. */
const aboutOf = (name: string, address: string): string => JSON.stringify(['provider-key', name, address])
