import { Failure } from '#contracts/errors'
import type { Providers, ProviderView } from '#contracts/model/providers'
import type { PluginLog, Undo } from '#contracts/plugin'
import { isSamePlace, type Resolve } from './base-url.js'
import { type KeyPlaces, shelfId } from './key-ref.js'
import { type Catalog, overlayOf } from './overlay.js'
import type { Cost, FetchedList, ProviderSetting, Settings } from './setting.js'
import type { Changed, SettingsStore } from './settings-store.js'

export interface ModelSettingsParts {
  readonly providers: Providers
  readonly store: SettingsStore
  readonly places: KeyPlaces
  /** What is there without anybody having set anything. */
  readonly catalog: Catalog
  /** What a provider may speak. */
  readonly protocols: readonly string[]
  readonly resolve: Resolve
  readonly log: PluginLog
  /** Tells the other generations that the store has changed. */
  readonly announce: () => void
}

/** The settings in force. What is changed is stored first, then laid over the providers, then answered. */
export class ModelSettings {
  #settings: Settings = new Map()
  #lists: ReadonlyMap<string, FetchedList> = new Map()
  #undo: Undo | undefined
  #laying: Promise<void> = Promise.resolve()
  #isClosed = false
  /** Changes end with the process, and somebody was told. */
  #isWarned = false

  constructor(readonly parts: ModelSettingsParts) {}

  get settings(): Settings {
    return this.#settings
  }

  get lists(): ReadonlyMap<string, FetchedList> {
    return this.#lists
  }

  /** Reads the store and lays it over the providers; one reading at a time, so that no older one comes out on top. */
  lay(): Promise<void> {
    const laying = this.#laying.then(() => this.#lay())
    this.#laying = laying.catch(() => undefined)
    return laying
  }

  /** After the store has changed: in force here, then told to whoever else goes by it. */
  async spread(): Promise<void> {
    await this.lay()
    this.parts.announce()
  }

  /** Takes everything back. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#laying
    await this.#undo?.()
  }

  /** A provider that lists show. Throws `not_found`. */
  provider(name: string): ProviderView {
    const view = this.parts.providers.find(name)
    if (view === undefined || view.entry.is_hidden === true)
      throw new Failure('not_found', `there is no provider ${name}; GET /v1/providers lists them`)
    return view
  }

  /** Changes what is set for a provider; what `change` throws leaves everything as it was. */
  async change(
    name: string,
    change: (before: ProviderSetting) => ProviderSetting | Promise<ProviderSetting>,
  ): Promise<Changed> {
    const changed = await this.parts.store.change(name, before => change(before ?? {}))
    await this.settle(name, changed)
    return changed
  }

  /** Brings into force what was stored, and drops a key nobody refers to any longer. */
  async settle(
    name: string,
    { before, after }: { readonly before?: ProviderSetting | undefined; readonly after?: ProviderSetting },
  ): Promise<void> {
    const { store, places, log } = this.parts
    await this.spread()
    const id = shelfId(before?.keyRef)
    if (id !== undefined && before?.keyRef !== after?.keyRef) await places.shelf.remove(id)
    log.info({ provider: name }, 'model settings have changed')
    if (store.isDurable || this.#isWarned) return
    this.#isWarned = true
    log.warn({ key: 'run_db' }, 'model settings end with this process: set SVC_RUN_DB to keep them')
  }

  /** Whether lists show a provider, or some of its models. */
  async expose(name: string, exposed: boolean | Readonly<Record<string, boolean>>): Promise<void> {
    const known = this.#knownModels(name)
    if (known.size === 0)
      throw new Failure('invalid_request', `exposed: no models of ${name} are known; fetch them first`)
    if (typeof exposed === 'boolean') {
      await this.change(name, ({ exposed: _, ...before }) => ({ ...before, isExposed: exposed }))
      return
    }
    for (const id of Object.keys(exposed)) refuseUnknown('exposed', id, known)
    await this.change(name, before => {
      const kept = Object.entries(before.exposed ?? {}).filter(([id]) => known.has(id))
      return { ...before, exposed: Object.fromEntries([...kept, ...Object.entries(exposed)]) }
    })
  }

  /** Sets the price of a model, whatever catalog and provider say. */
  async setCost(name: string, model: string, cost: Cost): Promise<void> {
    const known = this.#knownModels(name)
    refuseUnknown('model', model, known)
    await this.change(name, before => ({
      ...before,
      // Of models that are gone for now the price stays, up to a bound.
      costs: Object.fromEntries([...Object.entries(before.costs ?? {}).slice(-MAX_COSTS), [model, cost]]),
    }))
  }

  #knownModels(name: string): ReadonlySet<string> {
    return new Set(this.parts.providers.modelsOf(this.provider(name).name).map(({ id }) => id))
  }

  async #lay(): Promise<void> {
    const { providers, store, places, catalog } = this.parts
    this.#settings = await store.all()
    this.#lists = await store.lists()
    if (this.#isClosed) return
    const listing = new Set([...this.#lists].filter(([, { models }]) => models.length > 0).map(([name]) => name))
    const before = this.#undo
    this.#undo = providers.overlay(overlayOf(this.#settings, catalog, places, listing))
    await before?.()
    // A list that somebody fetched before a restart; one that is known already is newer.
    for (const [name, { baseUrl, models }] of this.#lists)
      if (
        isSamePlace(baseUrl, providers.find(name)?.baseUrl) &&
        !providers.modelsOf(name).some(({ isLearned }) => isLearned)
      )
        providers.learn(name, models)
  }
}

const MAX_COSTS = 5_000

function refuseUnknown(field: string, id: string, known: ReadonlySet<string>): void {
  if (!known.has(id))
    throw new Failure(
      'invalid_request',
      `${field}: the provider has no model "${id.slice(0, 100)}"; fetch its models first`,
    )
}
