import { Value } from '@sinclair/typebox/value'
import { hasScope, type Identity, normaliseTenant } from '#contracts/identity'
import { Ceiling, type CeilingsConfig } from './config.js'

/** The ceilings of a deployment, checked. */
export interface Ceilings {
  readonly default: Ceiling
  readonly tenants: ReadonlyMap<string, Ceiling>
  readonly keys: ReadonlyMap<string, Ceiling>
}

/** For keys without admin, field by field until the operator says otherwise: nothing that reaches beyond the workspace. */
const SHIPPED: Ceiling = Object.freeze({ max_sandbox: 'workspace', roots: [], stdio_servers: false })

/** Reads the section; throws a sentence naming the key that cannot be understood. Nothing is skipped. */
export function readCeilings(config: CeilingsConfig): Ceilings {
  for (const key of Object.keys(config))
    if (!KNOWN.has(key)) throw new Error(`plugins.ceilings.${key}: no such key; there are default, tenants and keys`)
  const table = (name: 'tenants' | 'keys') =>
    new Map(Object.entries(config[name]).map(([who, given]) => [who, ceilingOf(`${name}.${who}`, given)]))
  return {
    default: { ...SHIPPED, ...ceilingOf('default', config.default) },
    tenants: table('tenants'),
    keys: table('keys'),
  }
}

const KNOWN: ReadonlySet<string> = new Set(['workspace', 'default', 'tenants', 'keys'])

function ceilingOf(path: string, given: unknown): Ceiling {
  const [wrong] = Value.Errors(Ceiling, given)
  if (!wrong) return given as Ceiling
  const at = `plugins.ceilings.${path}${wrong.path.replaceAll('/', '.')}`
  if (wrong.message === 'Unexpected property')
    throw new Error(`${at}: no such key; there are ${Object.keys(Ceiling.properties).join(', ')}`)
  throw new Error(`${at}: ${EXPECTED[wrong.path.split('/')[1] ?? ''] ?? 'must be a table'}`)
}

const EXPECTED: Readonly<Record<string, string>> = {
  max_sandbox: 'must be one of workspace, local, unrestricted',
  network: 'must be one of allow, deny',
  roots: 'must be a list of absolute paths',
  stdio_servers: 'must be true or false',
  max_steps: 'must be a whole number above 0',
  max_cost_usd: 'must be a number above 0',
}

/**
 * What bounds a requester. A ceiling by tenant or key binds whoever it names, admin or not, and auth switched off; the
 * default binds every key without admin. Of several, the most specific decides, field by field.
 */
export function ceilingFor(identity: Identity, ceilings: Ceilings): Ceiling {
  const base = hasScope(identity, 'admin') ? {} : ceilings.default
  const ofTenant = ceilings.tenants.get(normaliseTenant(identity.tenantId))
  const ofKey = identity.keyPrefix === undefined ? undefined : ceilings.keys.get(identity.keyPrefix)
  return { ...base, ...ofTenant, ...ofKey }
}
