import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { Identity, Scope } from './identity.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is behind the request; set before any handler runs. */
    identity: Identity
  }
  interface FastifyContextConfig {
    /** Required on every route, and the only place where it is said. `none`: reachable without a key. */
    scope?: Scope | 'none'
    /** Replaces the 30 s handler limit; `none` for streams and waits. */
    timeoutMs?: number | 'none'
    /** Largest body in bytes; default 1 MiB. */
    bodyLimitBytes?: number
    /** Accept any media type and hand the handler the exact bytes as a Buffer (signed routes). */
    isRawBody?: boolean
  }
}

/** Routes of a plugin. Declare `schema` and `config.scope` on each: checks, OpenAPI, docs and tests come from there. */
export type RoutePlugin = FastifyPluginAsyncTypebox

/** The body of every failed request, except for a missing scope. */
export const ErrorEnvelope = Type.Object({ error: Type.Object({ code: Type.String(), message: Type.String() }) })
export type ErrorEnvelope = Static<typeof ErrorEnvelope>

/** `{id}` of a path. */
export const IdParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) })

/** Fires when the client hangs up before it has its reply: nobody is left to read what the work gives. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  if (raw.destroyed) gone.abort()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort()
  })
  return gone.signal
}
