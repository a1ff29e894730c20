import type { ListedModel, ProviderHealth } from '#contracts/model/providers'

/** A key that was given over the API, and the only base URL it is for. */
export interface RuntimeKey {
  readonly secret: string
  readonly address: string
}

/** What a provider listed, and where. */
export interface Learned {
  readonly address: string
  readonly models: ReadonlyMap<string, ListedModel>
}

/** What was last seen of a provider. */
export interface Observation {
  readonly health: Extract<ProviderHealth, 'ok' | 'failed'>
  readonly error?: string
  /** A run found out, and not a question of ours. */
  readonly isFromRun: boolean
  readonly atMs: number
  readonly address: string
}

/** State by provider name that outlives reloads: plain data, shared by every generation that still has runs. */
export interface CarriedState {
  readonly keys: Map<string, RuntimeKey>
  /** Counts the keys a provider was given, so that what was opened with an old one is known. */
  readonly keyChanges: Map<string, number>
  readonly learned: Map<string, Learned>
  readonly seen: Map<string, Observation>
  /** Digest of the secret whose stored keys are in `keys`; undefined before any were read. */
  readUnder: string | undefined
  /** Providers whose stored key that secret does not open. */
  locked: ReadonlySet<string>
}

export const createCarriedState = (): CarriedState => ({
  keys: new Map(),
  keyChanges: new Map(),
  learned: new Map(),
  seen: new Map(),
  readUnder: undefined,
  locked: new Set(),
})
