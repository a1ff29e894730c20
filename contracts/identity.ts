import { Failure } from './errors.js'

/** `runs:write` satisfies `runs:read`; `admin` satisfies all. */
export const SCOPES = ['runs:read', 'runs:write', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

export const DEFAULT_TENANT = 'default'

/** Empty and absent mean the default tenant, on both sides of every comparison. */
export const normaliseTenant = (tenantId: string | undefined): string => tenantId || DEFAULT_TENANT

/** Who is behind a request. With auth off: the default tenant and `scopes: 'all'`. */
export interface Identity {
  readonly tenantId: string
  /** The public part of the key; absent with auth off. */
  readonly keyPrefix?: string
  readonly scopes: readonly Scope[] | 'all'
}

/** What a request has when auth is off, and what the daemon's own work acts as. */
export const OPEN_IDENTITY: Identity = Object.freeze({ tenantId: DEFAULT_TENANT, scopes: 'all' })

export function hasScope(identity: Identity, required: Scope): boolean {
  if (identity.scopes === 'all' || identity.scopes.includes('admin')) return true
  return identity.scopes.includes(required) || (required === 'runs:read' && identity.scopes.includes('runs:write'))
}

/**
 * The tenant a request names, checked: with a key it must be the key's own. With auth off everything belongs to one
 * tenant and a name is only a label. Empty means the identity's own.
 */
export function resolveTenant(identity: Identity, given: string | undefined): string {
  const own = normaliseTenant(identity.tenantId)
  const wanted = given ? normaliseTenant(given) : own
  if (identity.scopes !== 'all' && wanted !== own)
    throw new Failure('invalid_request', 'tenant_id: must equal the tenant of the key; leave it out to use that tenant')
  return wanted
}
