import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** Goes into a header as it is. */
const token = Type.String({ minLength: 1, maxLength: 16_384, pattern: '^[!-~]+$' })

/** A session with a vendor, as the private copy holds it. Every text in it but the id of the device is a secret. */
export const Session = Type.Object({
  accessToken: token,
  refreshToken: token,
  /** Milliseconds since 1970; absent: nobody said, and it is used as long as it is taken. */
  expiresAtMs: Type.Optional(Type.Number({ minimum: 0 })),
  accountId: Type.Optional(Type.String({ minLength: 1, maxLength: 256, pattern: '^[!-~]+$' })),
  /** Drawn at the import; tells the vendor one installation from another. */
  deviceId: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
})
export type Session = Readonly<Static<typeof Session>>

/** What a text amounts to; `why` says what is wrong without repeating any of it. */
export type SessionRead =
  | { readonly kind: 'read'; readonly session: Session }
  | { readonly kind: 'wrong'; readonly why: string }

export const wrong = (why: string): SessionRead => ({ kind: 'wrong', why })

/** Checks the values a vendor's file gave. `names` says what the fields are called there. */
export function checked(draft: unknown, names: Readonly<Partial<Record<keyof Session, string>>>): SessionRead {
  const [first] = Value.Errors(Session, draft)
  if (first === undefined) return { kind: 'read', session: draft as Session }
  const field = first.path.slice(1) as keyof Session
  const isMissing = (draft as Readonly<Record<string, unknown>>)[field] === undefined
  return wrong(`${names[field] ?? field} is ${isMissing ? 'missing' : 'not what it should be'}`)
}

/** The claims of a token that is a JWT, unverified: its own vendor judges it. Undefined when it is none. */
export function claimsOf(text: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof text !== 'string') return undefined
  return asObject(objectOf(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString('utf8')))
}

/** When a token that is a JWT ends, in milliseconds since 1970. */
export function expiryOf(text: unknown): number | undefined {
  const { exp } = claimsOf(text) ?? {}
  return typeof exp === 'number' && Number.isFinite(exp) && exp > 0 ? exp * 1000 : undefined
}

/** Parsed JSON; undefined when it is none. What a parser says quotes the text, so it is not passed on. */
export function objectOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const asObject = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined
