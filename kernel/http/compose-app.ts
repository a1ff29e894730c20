import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TSchema } from '@sinclair/typebox'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type RouteOptions } from 'fastify'
import { Failure, isFailure, messageOf } from '#contracts/errors'
import type { RoutePlugin } from '#contracts/http'
import type { PluginLog } from '#contracts/plugin'
import type { ComposedApp, RouteContribution, RouteDeclaration } from '../host/composed-app.js'
import { pluginAtFault } from '../host/fault.js'
import { type AllowedMethods, createAllowedMethods, failureOf } from './allowed-methods.js'
import { parseJsonBody } from './json-body.js'
import { maskUrl } from './mask-url.js'
import { bodyMissing, guardRoute, type Identify } from './route-guard.js'
import { toReply } from './to-reply.js'
import { isTypebox, mayBeAbsent, schemaCompilers } from './validators.js'

const HANDLER_TIMEOUT_MS = 30_000
const BODY_LIMIT_BYTES = 1024 * 1024
/** A body that is too large but not longer than this is read to its end and dropped, so that the client sees our answer. */
const DRAINED_BYTES = 16 * 1024 * 1024
const PLUGIN_PATHS = /^\/(?:v1|mcp|viz)(?:\/|$)/

export interface ComposeOptions {
  readonly identify: Identify
  readonly log: PluginLog
  /** Routes of the kernel itself, which may stand anywhere; handed the list of all routes, whole once the app is ready. */
  readonly kernelRoutes?: (all: readonly RouteDescription[]) => RoutePlugin
  /** Limit of ordinary handlers; 30 s. */
  readonly handlerTimeoutMs?: number
}

/** A declared route with what it says about itself. */
export interface RouteDescription extends RouteDeclaration {
  readonly schema: Readonly<Record<string, unknown>>
  readonly isRawBody: boolean
}

/**
 * Builds the app of an epoch; it never listens. Refuses, with the plugin's name, a route without a scope, outside the
 * plugin paths, or declared twice. The caller closes it.
 */
export async function composeApp(
  contributions: readonly RouteContribution[],
  options: ComposeOptions,
): Promise<ComposedApp & { readonly routes: readonly RouteDescription[] }> {
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    bodyLimit: BODY_LIMIT_BYTES,
    return503OnClosing: false,
    forceCloseConnections: false,
    schemaController: schemaCompilers,
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (error, request, reply) => answerError(error, request, reply, options.log),
  })
  const routes: RouteDescription[] = []
  const taken = new Map<string, RouteContribution>()
  const heads = new WeakSet<IncomingMessage>()
  const allowedMethods = createAllowedMethods(routes)
  prepare(app, allowedMethods, options.log)

  const declare = (from: RouteContribution, mayStandAnywhere: boolean) => (route: RouteOptions) => {
    const described = describeRoute(route, from.plugin, mayStandAnywhere)
    for (const one of described) refuseClash(one, from, taken)
    routes.push(...described)
    const { timeoutMs = options.handlerTimeoutMs ?? HANDLER_TIMEOUT_MS, bodyLimitBytes, scope } = route.config ?? {}
    if (bodyLimitBytes !== undefined) route.bodyLimit = bodyLimitBytes
    const schema = route.schema?.body as TSchema | undefined
    const body = {
      isRaw: route.config?.isRawBody === true,
      isRequired: schema !== undefined && !mayBeAbsent(schema),
    }
    const guard = guardRoute({ scope: scope ?? 'admin', body, timeoutMs }, options.identify, heads)
    route.onRequest = [guard, ...[route.onRequest ?? []].flat()]
  }
  const add = (from: RouteContribution, mayStandAnywhere = false) =>
    app.register(async scope => {
      scope.addHook('onRoute', declare(from, mayStandAnywhere))
      for (const routePlugin of from.routes) await scope.register(routePlugin)
    })

  try {
    if (options.kernelRoutes) await add({ plugin: 'kernel', routes: [options.kernelRoutes(routes)] }, true)
    for (const contribution of contributions) {
      try {
        await add(contribution)
      } catch (cause) {
        throw ofPlugin(contribution.plugin, cause)
      }
    }
    await app.ready()
  } catch (error) {
    await app.close()
    throw error
  }

  return {
    routes,
    close: () => app.close(),
    routing(request: IncomingMessage, response: ServerResponse) {
      if (request.method === 'HEAD') {
        // The response already knows that it has no body.
        heads.add(request)
        request.method = 'GET'
      }
      app.routing(request, response)
    },
  }
}

function prepare(app: FastifyInstance, allowedMethods: AllowedMethods, log: PluginLog) {
  app.decorateRequest('identity')
  app.decorateRequest('bodyRule')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    const { isRaw, isRequired } = request.bodyRule
    if (isRaw) done(null, bytes)
    else if (bytes.length > 0) done(null, parseJsonBody(bytes))
    else if (isRequired) done(bodyMissing())
    else done(null, undefined)
  })
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, log))
  // Before any body is read: what has no route gets its answer at once.
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done()
    const allowed = allowedMethods(request.url)
    if (request.method === 'OPTIONS' && allowed !== undefined) reply.code(204).header('allow', allowed).send()
    else done(failureOf(allowed))
  })
  app.setNotFoundHandler((_request, reply) => reply.send(failureOf(undefined)))
}

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, log: PluginLog) {
  const { status, headers, body, isSurprise } = toReply(error)
  if (isSurprise) log.error({ err: error, method: request.method, url: maskUrl(request.url) }, 'request failed')
  const isTooLong = status === 413 && Number(request.headers['content-length'] ?? 0) > DRAINED_BYTES
  if (!isTooLong) reply.removeHeader('connection')
  reply.code(status).headers(headers).send(body)
}

function describeRoute(route: RouteOptions, plugin: string, mayStandAnywhere: boolean): readonly RouteDescription[] {
  const name = `${[route.method].flat().join('|')} ${route.url}`
  const { scope, isRawBody = false } = route.config ?? {}
  if (scope === undefined) throw new Failure('invalid_request', `the route ${name} declares no config.scope`)
  if (!mayStandAnywhere && !PLUGIN_PATHS.test(route.url))
    throw new Failure('invalid_request', `the route ${name} must stand below /v1, /mcp or /viz`)
  const schema: Readonly<Record<string, unknown>> = { ...route.schema }
  for (const part of ['body', 'querystring', 'params', 'headers'])
    if (schema[part] !== undefined && !isTypebox(schema[part]))
      throw new Failure('invalid_request', `the ${part} schema of the route ${name} is not a typebox schema`)
  return [route.method].flat().map(method => ({ method, url: route.url, plugin, scope, schema, isRawBody }))
}

/**
 * Parameter names make no difference: two routes that differ only there would shadow each other. The younger plugin is to
 * blame: the other was there before.
 */
function refuseClash(
  { method, url }: RouteDeclaration,
  from: RouteContribution,
  taken: Map<string, RouteContribution>,
) {
  const shape = `${method} ${url.replaceAll(/:[^/]+/g, ':')}`
  const other = taken.get(shape)
  taken.set(shape, from)
  if (other === undefined) return
  const [older, younger] = (other.number ?? 0) > (from.number ?? 0) ? [from, other] : [other, from]
  throw new Failure('conflict', `the route ${method} ${url} is already declared by plugin ${older.plugin}`, {
    details: { plugin: younger.plugin },
  })
}

/** Says whose routes could not be added: those of `adding`, unless the failure blames another. */
function ofPlugin(adding: string, cause: unknown): Failure {
  const plugin = pluginAtFault(cause) ?? adding
  return new Failure(isFailure(cause) ? cause.code : 'invalid_request', `plugin ${plugin}: ${messageOf(cause)}`, {
    cause,
    details: { plugin },
  })
}
