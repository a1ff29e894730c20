import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { Failure } from '#contracts/errors'
import { DEFAULT_TENANT, hasScope, type Identity, type Scope } from '#contracts/identity'
import { clearAtClose } from './lease.js'

/** Says who is behind a request; fails with `unauthorized`. Answers at once where it can. */
export type Identify = (request: IncomingMessage) => Identity | Promise<Identity>

/** What a route does with bodies; one object per route. */
export interface BodyRule {
  readonly isRaw: boolean
  readonly isRequired: boolean
}

export interface GuardedRoute {
  readonly scope: Scope | 'none'
  readonly body: BodyRule
  /** Streams and waits, which have no limit and nothing to say to a HEAD, are `none`. */
  readonly timeoutMs: number | 'none'
}

/** Whoever calls a route that needs no key. Has no right to anything. */
const NOBODY: Identity = Object.freeze({ tenantId: DEFAULT_TENANT, scopes: [] })

const NO_BYTES = Buffer.alloc(0)

declare module 'fastify' {
  interface FastifyRequest {
    /** Set with the identity, before a body is read. */
    bodyRule: BodyRule
  }
}

/**
 * The first hook of every route: who is it, may they, and is the body one we read. Made once per route. `heads`: requests
 * that came as HEAD and are served as GET.
 */
export function guardRoute(
  route: GuardedRoute,
  identify: Identify,
  heads: WeakSet<IncomingMessage>,
): onRequestHookHandler {
  const { scope, body, timeoutMs } = route
  const admit = (request: FastifyRequest, identity: Identity): Error | undefined => {
    if (scope !== 'none' && !hasScope(identity, scope))
      return new Failure('insufficient_scope', `this needs the scope ${scope}`, { details: { required: scope } })
    if (timeoutMs === 'none' && heads.has(request.raw))
      return new Failure('method_not_allowed', 'method not allowed', { details: { allow: 'GET' } })
    request.identity = identity
    request.bodyRule = body
    // Stays when no bytes come: a raw handler always gets a Buffer.
    if (body.isRaw) request.body = NO_BYTES
    return refuseBody(request, body)
  }
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    if (timeoutMs !== 'none') clearAtClose(reply.raw, setTimeout(answerLate, timeoutMs, reply).unref())
    if (scope === 'none') return done(admit(request, NOBODY))
    let identity: Identity | Promise<Identity>
    try {
      identity = identify(request.raw)
    } catch (error) {
      return done(error as Error)
    }
    if (!(identity instanceof Promise)) return done(admit(request, identity))
    identity.then(known => admit(request, known)).then(done, done)
  }
}

/** The framework's own limit makes an abort signal per request, which costs more than all the rest of ours. */
function answerLate(reply: FastifyReply) {
  if (reply.sent) return
  if (reply.raw.headersSent) reply.raw.destroy()
  else reply.send(new Failure('handler_timeout', 'request timed out'))
}

/** The failure of a route that needs a body and got none. */
export const bodyMissing = (): Failure => new Failure('invalid_json', 'the request body is empty; send a JSON object')

/**
 * JSON bodies only: a type that a web form can send would let other sites write. What is not sent needs no type, but a
 * request without a body is refused where one is needed.
 */
function refuseBody({ raw, headers }: FastifyRequest, { isRaw, isRequired }: BodyRule): Failure | undefined {
  if (raw.method === 'GET') return undefined
  if (!hasBody(headers)) return isRequired ? bodyMissing() : undefined
  if (isRaw || isJson(headers['content-type'])) return undefined
  return new Failure('unsupported_media_type', 'send the body as application/json')
}

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const isJson = (type: string | undefined): boolean =>
  type === 'application/json' || (type !== undefined && /^\s*application\/json\s*(?:;|$)/i.test(type))
