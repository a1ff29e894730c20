import type { Collection, Records } from '#contracts/store/records'
import type { PromptLibrary } from './library.js'

export type ExtensionKind = 'behavior' | 'talent'

const MAX_OF_A_KIND = 100

interface Kept {
  readonly text: string
}

export type Saving =
  | { readonly kind: 'created' | 'updated' }
  | { readonly kind: 'refused'; readonly code: string; readonly because: string }

/** Behaviors and talents that a tenant's agents wrote, beside those of the library and never in their place. */
export class OwnExtensions {
  readonly #kept: Collection<Kept>

  constructor(records: Records) {
    this.#kept = records.collection<Kept>({ name: 'prompts.extensions', namespace: 'state' })
  }

  /** Of these ids the ones the tenant has. */
  async texts(tenantId: string, kind: ExtensionKind, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = await Promise.all(ids.map(async id => [id, await this.#kept.get(tenantId, keyOf(kind, id))] as const))
    return new Map(found.flatMap(([id, stored]) => (stored ? [[id, stored.value.text] as const] : [])))
  }

  async names(tenantId: string, kind: ExtensionKind): Promise<readonly string[]> {
    const stored = await this.#kept.scan({ tenantId, from: `${kind}:`, below: `${kind};`, limit: MAX_OF_A_KIND })
    return stored.map(({ key }) => key.slice(kind.length + 1))
  }

  /** Keeps a text under a name that is free, or that is the tenant's own and may be replaced. */
  async save(tenantId: string, kind: ExtensionKind, name: string, text: string, mayReplace: boolean): Promise<Saving> {
    const key = keyOf(kind, name)
    const stored = await this.#kept.get(tenantId, key)
    if (stored && !mayReplace)
      return refused('already_exists', `there is a ${kind} ${name} already; set overwrite to replace it`)
    if (!stored && (await this.names(tenantId, kind)).length >= MAX_OF_A_KIND)
      return refused('too_many', `there are ${MAX_OF_A_KIND} of them already; overwrite one that is no longer needed`)
    const written = await this.#kept.put(tenantId, key, { text }, stored?.version ?? 0)
    if (written.kind === 'conflict')
      return refused('conflict', `somebody else wrote ${name} at the same time; look and try again`)
    return { kind: stored ? 'updated' : 'created' }
  }
}

/** The library with what a request asks for of the tenant's own. */
export async function withOwn(
  library: PromptLibrary,
  own: OwnExtensions,
  tenantId: string,
  asked: { readonly behaviors?: readonly string[]; readonly talents?: readonly string[] } = {},
): Promise<PromptLibrary> {
  const missing = (ids: readonly string[] = [], known: ReadonlyMap<string, string>) => ids.filter(id => !known.has(id))
  const behaviors = missing(asked.behaviors, library.behaviors)
  const talents = missing(asked.talents, library.talents)
  if (behaviors.length + talents.length === 0) return library
  const [ownBehaviors, ownTalents] = await Promise.all([
    own.texts(tenantId, 'behavior', behaviors),
    own.texts(tenantId, 'talent', talents),
  ])
  return {
    ...library,
    behaviors: new Map([...ownBehaviors, ...library.behaviors]),
    talents: new Map([...ownTalents, ...library.talents]),
  }
}

const keyOf = (kind: ExtensionKind, name: string): string => `${kind}:${name}`
const refused = (code: string, because: string): Saving => ({ kind: 'refused', code, because })
