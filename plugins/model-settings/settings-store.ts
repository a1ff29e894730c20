import { Failure } from '#contracts/errors'
import { DEFAULT_TENANT } from '#contracts/identity'
import type { Collection, Records } from '#contracts/store/records'
import type { FetchedList, ProviderSetting, Settings } from './setting.js'

const MAX_ATTEMPTS = 20
const MAX_PROVIDERS = 200

/** What a change found and what it left. */
export interface Changed {
  readonly before: ProviderSetting | undefined
  readonly after: ProviderSetting
}

/**
 * The settings of the deployment, one record per provider. They belong to no tenant: providers are everybody's, and only admins
 * may change them. Kept in the run database, else in memory; never in the workspace, which a repository may bring along.
 */
export class SettingsStore {
  readonly #settings: Collection<ProviderSetting>
  readonly #lists: Collection<FetchedList>
  readonly isDurable: boolean

  constructor(records: Records) {
    this.#settings = records.collection({ name: 'model-settings.providers', namespace: 'run' })
    this.#lists = records.collection({ name: 'model-settings.lists', namespace: 'run' })
    this.isDurable = records.isDurable('run')
  }

  async all(): Promise<Settings> {
    return byName(await this.#settings.scan({ tenantId: DEFAULT_TENANT, limit: MAX_PROVIDERS + MAX_ATTEMPTS }))
  }

  async lists(): Promise<ReadonlyMap<string, FetchedList>> {
    return byName(await this.#lists.scan({ tenantId: DEFAULT_TENANT, limit: MAX_PROVIDERS + MAX_ATTEMPTS }))
  }

  /** Changes the setting as it is at the moment of writing; what `change` throws leaves it as it was. */
  async change(
    name: string,
    change: (before: ProviderSetting | undefined) => ProviderSetting | Promise<ProviderSetting>,
  ): Promise<Changed> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const stored = await this.#settings.get(DEFAULT_TENANT, name)
      if (stored === undefined && (await this.all()).size >= MAX_PROVIDERS)
        throw new Failure(
          'invalid_request',
          `name: there are settings of ${MAX_PROVIDERS} providers already; delete one`,
        )
      const after = await change(stored?.value)
      const outcome = await this.#settings.put(DEFAULT_TENANT, name, after, stored?.version ?? 0)
      if (outcome.kind === 'written') return { before: stored?.value, after }
    }
    throw new Failure('conflict', `the settings of ${name} are being changed by many at once; try again`)
  }

  /** What was there; `mayRemove` throws to leave it. */
  async remove(
    name: string,
    mayRemove: (before: ProviderSetting | undefined) => void,
  ): Promise<ProviderSetting | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const stored = await this.#settings.get(DEFAULT_TENANT, name)
      mayRemove(stored?.value)
      if (stored === undefined) return undefined
      if (await this.#settings.remove(DEFAULT_TENANT, name, stored.version)) return stored.value
    }
    throw new Failure('conflict', `the settings of ${name} are being changed by many at once; try again`)
  }

  async listOf(name: string): Promise<FetchedList | undefined> {
    return (await this.#lists.get(DEFAULT_TENANT, name))?.value
  }

  async keepList(name: string, list: FetchedList): Promise<void> {
    await this.#lists.put(DEFAULT_TENANT, name, list)
  }

  async dropList(name: string): Promise<void> {
    await this.#lists.remove(DEFAULT_TENANT, name)
  }
}

const byName = <T>(stored: readonly { readonly key: string; readonly value: T }[]): ReadonlyMap<string, T> =>
  new Map(stored.map(({ key, value }) => [key, value]))
