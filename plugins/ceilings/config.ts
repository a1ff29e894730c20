import { type Static, Type } from '@sinclair/typebox'
import { NetworkAccess, SandboxScope } from '#contracts/run/policy'

/** What a run may ask for at most. An absent field sets no limit, or leaves it to the next ceiling that applies. */
export const Ceiling = Type.Object(
  {
    max_sandbox: Type.Optional(SandboxScope),
    /** `deny`: runs work without network. */
    network: Type.Optional(NetworkAccess),
    /** Directories below which a run works and has its extra directories. Empty: the daemon's workspace. */
    roots: Type.Optional(Type.Array(Type.String({ pattern: '^/' }), { maxItems: 1000 })),
    /** May a run bring tool servers that are started as commands? */
    stdio_servers: Type.Optional(Type.Boolean()),
    max_steps: Type.Optional(Type.Integer({ minimum: 1 })),
    max_cost_usd: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  },
  { additionalProperties: false },
)
export type Ceiling = Readonly<Static<typeof Ceiling>>

const ceilings = (description: string) => Type.Record(Type.String(), Type.Unknown(), { default: {}, description })

/**
 * Loose on purpose: the loader drops what does not fit and goes on, and a ceiling must not vanish for a typing error.
 * `readCeilings` checks it and refuses to start.
 */
export const CeilingsConfig = Type.Object(
  {
    workspace: Type.String({ default: '', setting: 'workspace', description: 'The daemon’s workspace.' }),
    default: ceilings('Every key without the scope admin, over what ships.'),
    tenants: ceilings('A ceiling by tenant, for all of its keys; over the default.'),
    keys: ceilings('A ceiling by the public prefix of a key; over that of its tenant.'),
  },
  { additionalProperties: true },
)
export type CeilingsConfig = Readonly<Static<typeof CeilingsConfig>>
