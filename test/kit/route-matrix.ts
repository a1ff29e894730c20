import { hasScope, type Scope } from '#contracts/identity'
import type { RouteDeclaration } from '#kernel/host/composed-app'

/** The identities of the auth matrix. `garbage` is no key of ours; the last three are keys with exactly that one scope. */
export const MATRIX_IDENTITIES = ['none', 'garbage', 'expired', 'revoked', 'runs:read', 'runs:write', 'admin'] as const
export type MatrixIdentity = (typeof MATRIX_IDENTITIES)[number]

/** A key for each identity that shows one. */
export type MatrixKeys = Readonly<Record<Exclude<MatrixIdentity, 'none'>, string>>

/** What the auth check has to say: a refusal with this status and body, or anything that is not a refusal of the check. */
export type MatrixVerdict =
  | { readonly kind: 'refused'; readonly status: number; readonly body: object }
  | { readonly kind: 'admitted' }

export interface MatrixCell {
  /** `POST /v1/runs as runs:read`. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly identity: MatrixIdentity
  readonly verdict: MatrixVerdict
}

/** Every declared route times every identity, with what the declaration promises for it. */
export function routeMatrix(routes: readonly RouteDeclaration[]): readonly MatrixCell[] {
  return routes.flatMap(route =>
    MATRIX_IDENTITIES.map(identity => ({
      name: `${route.method} ${route.url} as ${identity}`,
      method: route.method,
      path: route.url.replaceAll(/:[^/]+/g, 'no-such-id').replace('*', 'no-such-file'),
      identity,
      verdict: verdictOf(route.scope, identity),
    })),
  )
}

/**
 * Asks a running daemon about one cell. Undefined when the reply keeps the promise, else a sentence that says how not.
 * An admitted request is sent without a body, so that it does nothing where one is needed.
 */
export async function checkCell(baseUrl: string, cell: MatrixCell, keys: MatrixKeys): Promise<string | undefined> {
  const { identity, method, path, verdict, name } = cell
  const headers: Record<string, string> = identity === 'none' ? {} : { authorization: `Bearer ${keys[identity]}` }
  // A stream or a wait is judged by its head.
  const patience = new AbortController()
  const reply = await fetch(baseUrl + path, { method, headers, redirect: 'manual', signal: patience.signal })
  if (verdict.kind === 'admitted') {
    const { status } = reply
    patience.abort()
    if (status === 401 || status === 403) return `${name}: ${status}, though it should be let in`
    return status >= 500 && status !== 501 && status !== 503 ? `${name}: ${status}` : undefined
  }
  const body = await reply.text()
  const wanted = JSON.stringify(verdict.body)
  return reply.status === verdict.status && body === wanted
    ? undefined
    : `${name}: ${reply.status} ${body}, not ${verdict.status} ${wanted}`
}

function verdictOf(scope: Scope | 'none', identity: MatrixIdentity): MatrixVerdict {
  if (scope === 'none') return { kind: 'admitted' }
  const message = REFUSED[identity]
  if (message !== undefined) return { kind: 'refused', status: 401, body: { error: { code: 'unauthorized', message } } }
  const scopes = [identity as Scope]
  return hasScope({ tenantId: 'any', scopes }, scope)
    ? { kind: 'admitted' }
    : { kind: 'refused', status: 403, body: { error: 'insufficient_scope', required: scope } }
}

const REFUSED: Readonly<Partial<Record<MatrixIdentity, string>>> = {
  none: 'authorization required',
  garbage: 'invalid api key',
  expired: 'api key expired',
  revoked: 'invalid api key',
}
