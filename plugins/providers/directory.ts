import { inheritModels } from '#contracts/model/lookup'
import type { ModelWire, ProviderEntry } from '#contracts/model/provider'
import type { ProviderOverlay } from '#contracts/model/providers'
import type { Undo } from '#contracts/plugin'
import { type Address, parseAddress } from './address.js'
import { type Catalogs, own } from './catalogs.js'

/** A provider as catalogs, variables and overlays have it together. Replaced, never changed, when one of them changes. */
export interface Provider {
  readonly name: string
  /** With inherited models and aliases. */
  readonly entry: ProviderEntry
  /** Undefined: its base URL cannot be used. */
  readonly address: Address | undefined
  /** Where the address comes from, when it is not the entry: the name of a variable. */
  readonly addressFrom: string | undefined
  /** Undefined: nobody speaks its protocol. */
  readonly wire: ModelWire | undefined
  readonly version: string
  /** The overlay that added or replaced it. */
  readonly overlay: ProviderOverlay | undefined
}

export interface DirectoryParts {
  readonly catalogs: Catalogs
  readonly wires: readonly ModelWire[]
  readonly variable: (name: string) => string | undefined
}

/** Version of what nobody has published. */
const OVERLAID = 'user'

/** Every provider by name, hidden ones too. */
export class Directory {
  readonly #overlays: ProviderOverlay[] = []
  readonly #wires: ReadonlyMap<string, ModelWire>
  readonly #contributed: ReadonlyMap<string, Provider>
  #all: ReadonlyMap<string, Provider>

  constructor(readonly parts: DirectoryParts) {
    this.#wires = new Map(parts.wires.toReversed().flatMap(wire => wire.protocols.map(name => [name, wire] as const)))
    const { providers } = parts.catalogs
    const entries = new Map([...providers].map(([name, { entry }]) => [name, entry]))
    const rows = [...providers].map(([name, { entry, version }]) => {
      const { text, from } = this.#baseUrlOf(entry)
      return this.#provider(name, { entry, version, text, from, overlay: undefined }, entries)
    })
    this.#contributed = byName(rows)
    this.#all = this.#contributed
  }

  /** In the order of their names. */
  get all(): Iterable<Provider> {
    return this.#all.values()
  }

  find(name: string): Provider | undefined {
    return this.#all.get(name)
  }

  /** The provider as catalogs and variables have it, whatever is laid over it. */
  underneath(name: string): Provider | undefined {
    return this.#contributed.get(name)
  }

  /** Earliest first. */
  get overlays(): readonly ProviderOverlay[] {
    return this.#overlays
  }

  overlay(overlay: ProviderOverlay): Undo {
    this.#overlays.push(overlay)
    this.#rebuild()
    return () => {
      const at = this.#overlays.lastIndexOf(overlay)
      if (at < 0) return
      this.#overlays.splice(at, 1)
      this.#rebuild()
    }
  }

  #rebuild(): void {
    const laid = new Map<string, ProviderOverlay>()
    for (const overlay of this.#overlays)
      for (const name of Object.keys(overlay.providers ?? {})) laid.set(name, overlay)
    const entries = new Map([...this.#contributed].map(([name, { entry }]) => [name, entry]))
    for (const [name, overlay] of laid) entries.set(name, own(overlay.providers, name) as ProviderEntry)
    const rows = [...laid].map(([name, overlay]) => {
      const entry = entries.get(name) as ProviderEntry
      const standing = this.#all.get(name)
      if (standing?.overlay === overlay && !entry.models_from) return standing
      const below = this.#contributed.get(name)
      // The variable speaks of the catalog's address. One that was chosen over that stands as it is.
      const isSame =
        below !== undefined &&
        below.entry.base_url === entry.base_url &&
        below.entry.base_url_env === entry.base_url_env
      const { text, from } = isSame ? this.#baseUrlOf(entry) : { text: entry.base_url, from: undefined }
      return this.#provider(name, { entry, version: below?.version ?? OVERLAID, text, from, overlay }, entries)
    })
    this.#all = byName([...[...this.#contributed.values()].filter(({ name }) => !laid.has(name)), ...rows])
  }

  #baseUrlOf({ base_url, base_url_env }: ProviderEntry): { readonly text: string; readonly from: string | undefined } {
    const text = base_url_env === undefined ? undefined : this.parts.variable(base_url_env)
    return text === undefined ? { text: base_url, from: undefined } : { text, from: base_url_env }
  }

  #provider(
    name: string,
    raw: Pick<Provider, 'entry' | 'version' | 'overlay'> & { readonly text: string; readonly from: string | undefined },
    entries: ReadonlyMap<string, ProviderEntry>,
  ): Provider {
    const { entry, text, from, version, overlay } = raw
    const known = inheritModels(entry, of => entries.get(of))
    return {
      name,
      entry: entry.models_from && known ? { ...entry, ...known } : entry,
      address: parseAddress(text.trim()),
      addressFrom: from,
      wire: this.#wires.get(entry.protocol),
      version,
      overlay,
    }
  }
}

const byName = (rows: readonly Provider[]): ReadonlyMap<string, Provider> =>
  new Map(rows.toSorted((a, b) => compareText(a.name, b.name)).map(row => [row.name, row]))

/** By code units, the same everywhere. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
