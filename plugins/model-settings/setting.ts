import type { ListedModel } from '#contracts/model/providers'

export const AUTH_KINDS = ['api_key', 'subscription', 'none'] as const
export type AuthKind = (typeof AUTH_KINDS)[number]

/** How a provider is reached, where that is not as the catalog has it. */
export interface Reach {
  /** Absent: the catalog's. */
  readonly baseUrl?: string
  readonly protocol: string
  readonly authKind: AuthKind
}

export interface Cost {
  /** US dollars per million tokens. */
  readonly input: number
  readonly output: number
}

/** What was set for one provider. Never holds a secret. */
export interface ProviderSetting {
  /** Present for every provider that was added. */
  readonly reach?: Reach
  /** Where its key is: see `key-ref.ts`. */
  readonly keyRef?: string
  /** Of all its models, as far as `exposed` says nothing else. */
  readonly isExposed?: boolean
  readonly exposed?: Readonly<Record<string, boolean>>
  readonly costs?: Readonly<Record<string, Cost>>
}

/** What a provider listed when it was last asked. */
export interface FetchedList {
  readonly baseUrl: string
  /** RFC 3339; absent: it never listed anything. */
  readonly at?: string
  readonly models: readonly ListedModel[]
  /** Why the last attempt failed. */
  readonly error?: string
}

export type Settings = ReadonlyMap<string, ProviderSetting>

/** A member somebody wrote, and not one every object has. */
export const own = <T>(table: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
